<?php

declare(strict_types=1);

namespace LarderGuest;

/** Adds the loop's notes on a finished block to the tally of each operation. */
final class Count
{
    private ?string $firstError = null;
    /** @var array<string, Tally> */
    private array $tallies = [];
    /** @var array<int, Tally> By the kind of operation. */
    private array $tallyOf = [];

    /** @param list<string> $operations Names; with `$multiget` above 1 a get is a request of that many keys */
    public function __construct(array $operations, int $multiget)
    {
        $names = [
            Plan::GET => $multiget > 1 ? 'get_many' : 'get',
            Plan::SET => 'set',
            Plan::GET_OR_SET => 'get_or_set',
            Plan::DELETE => 'delete',
            Plan::TOUCH => 'touch',
        ];
        foreach ($names as $kind => $name) {
            if (in_array($name, $operations, true)) {
                $reads = $kind === Plan::GET || $kind === Plan::GET_OR_SET;
                $this->tallies[$name] = $this->tallyOf[$kind] = new Tally($reads);
            }
        }
    }

    public function add(Block $block): void
    {
        ksort($block->errors);
        foreach ($block->errors as $n => $failure) {
            $this->firstError ??= $failure->getMessage();
            $this->tallyOf[$block->kind[$n]]->addError($failure->kind);
        }
        $block->settleMisses();
        foreach ($block->wrong as $kind => $ofOutcome) {
            $this->tallyOf[$kind]->addWrong($block, $ofOutcome);
        }
        foreach ($block->segments as [$from, $to, $began, $elapsed]) {
            $this->addSegment($block, $from, $to, $began, $began - $elapsed);
        }
    }

    /**
     * The counts of each operation, for the result of the phase.
     *
     * @return array<string, mixed>
     */
    public function over(int $wallNs): array
    {
        return array_map(static fn (Tally $tally): array => $tally->over($wallNs), $this->tallies);
    }

    public function firstError(): ?string
    {
        return $this->firstError;
    }

    private function addSegment(Block $block, int $from, int $to, int $then, int $origin): void
    {
        while ($from <= $to) {
            $kind = $block->kind[$from];
            $tally = $this->tallyOf[$kind];
            $last = $from;
            if ($kind === Plan::GET && $block->multiget > 1) {
                $last = $block->requestTo[$from];
                $this->addRequest($tally, $block, $from, $last, $then, $origin);
            } else {
                if ($block->onlyKind !== null) {
                    $last = $to;
                }
                while ($last < $to && $block->kind[$last + 1] === $kind) {
                    $last++;
                }
                $tally->addRun($block, $from, $last, $then, $origin);
            }
            $then = $block->end[$last];
            $from = $last + 1;
        }
    }

    private function addRequest(Tally $tally, Block $block, int $from, int $last, int $then, int $origin): void
    {
        $outcomes = [];
        $bytes = 0;
        for ($n = $from; $n <= $last; $n++) {
            $outcomes[] = $what = $block->outcome[$n] ?? Outcome::RIGHT;
            $bytes += $block->bytesOf[$n] ?? ($what === Outcome::RIGHT ? strlen($block->want[$n]) : 0);
        }
        $tally->addRequest($outcomes, $block->end[$last] - $origin, $block->end[$last] - $then, $bytes);
    }
}
