<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * One process's share of a phase: blocks are made ready, worked through, counted. A process alone stops its clock while
 * it prepares and counts. Each of several processes keeps its clock running, because the other processes have the cache
 * to themselves meanwhile. So each of them prepares and counts as much at once as memory allows, mostly everything.
 */
final class Phase
{
    /** The limits of a block, operations and bytes. For a process alone: as much as stays in a processor's cache. */
    private const ALONE = [4_096, 4 << 20];
    private const SEVERAL = [262_144, 64 << 20];
    /** The longest segment of the loop; between segments the guest reports its progress. */
    private const SEGMENT_NS = 250_000_000;

    private readonly bool $isAlone;
    private readonly bool $again;
    private readonly int $first;
    private readonly int $operations;
    private readonly int $limitNs;
    private readonly Block $block;
    private readonly Loop $loop;
    private readonly Failures $failures;
    private readonly Count $count;
    private readonly Usage $usage;
    /** The number of operations in the block. */
    private int $filled;
    private int $done = 0;
    private int $timedNs = 0;
    private ?int $start = null;

    /** `$phase` and `$process` are counted from 0. */
    public function __construct(
        private readonly Plan $plan,
        private readonly Cache $cache,
        Judge $judge,
        private readonly int $phase,
        private readonly int $process,
    ) {
        $what = $plan->phases[$phase];
        $this->isAlone = $plan->processes === 1;
        $this->again = $what['again'] && $what['time_limit_s'] !== null;
        $this->limitNs = $what['time_limit_s'] === null ? PHP_INT_MAX : (int) round($what['time_limit_s'] * 1e9);
        [$this->first, $this->operations] = $what['shares'][$process];
        $held = $plan->replays ? $plan->heldBefore($phase, $process) : 0;
        if ($held !== 0) {
            $cache->set('held', $plan->value($held), null);
        }
        // Unanswered sets are waited for at the end of a block, so blocks are large then and the waits do not count.
        [$operations, $bytes] = $this->isAlone && $cache->acknowledges() ? self::ALONE : self::SEVERAL;
        $meetsNewer = !$this->isAlone || $what['again'];
        $this->block = new Block($plan, $operations, $bytes, $what['multiget'], $meetsNewer, $held);
        $this->loop = new Loop($cache, $judge, $this->block, $plan->ttl);
        $this->failures = new Failures($cache, $judge, $this->block);
        $this->count = new Count($what['operations'], $what['multiget']);
        $this->usage = new Usage();
        $this->filled = $this->block->fill($this->first, $this->operations);
    }

    /**
     * Does the share, and calls `$tell` with the number of operations done so far several times a second.
     *
     * @param \Closure(int): void $tell
     */
    public function run(\Closure $tell): void
    {
        $this->cache->connections();
        $this->cache->tierCounts();
        if (!$this->isAlone) {
            $this->usage->start();
        }
        $position = 0;
        while ($this->filled > 0) {
            $this->workThroughBlock($tell);
            $this->count->add($this->block);
            $this->failures->nextBlock();
            if ($this->timedNs >= $this->limitNs) {
                break;
            }
            $position += $this->filled;
            if ($this->again && $position === $this->operations) {
                $position = 0;
            }
            $this->filled = $this->block->fill($this->first + $position, $this->operations - $position);
        }
        if (!$this->isAlone) {
            $this->usage->stop();
        }
    }

    /** Writes the result to a file, which gets its name when it is complete. */
    public function writeResult(): void
    {
        [$userNs, $systemNs] = $this->usage->cpuNs();
        $result = [
            'start_ns' => $this->start ?? 0,
            'wall_ns' => $this->timedNs,
            'cpu_user_ns' => $userNs,
            'cpu_system_ns' => $systemNs,
            'rss_bytes' => Usage::rssBytes(),
            'connections' => $this->cache->connections(),
            'failed' => $this->failures->notStored(),
            'first_error' => $this->count->firstError(),
            'tiers' => $this->cache->tierCounts(),
            'operations' => (object) $this->count->over($this->timedNs),
        ];
        $path = "{$this->plan->folder}/ran-{$this->phase}-{$this->process}.json";
        file_put_contents("$path.part", json_encode($result, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE));
        rename("$path.part", $path);
    }

    private function workThroughBlock(\Closure $tell): void
    {
        $block = $this->block;
        $at = 0;
        while ($at < $block->count && $this->timedNs < $this->limitNs) {
            if ($this->isAlone) {
                $this->usage->start();
            }
            [$began, $next] = $this->loop->run($at, min($this->limitNs - $this->timedNs, self::SEGMENT_NS));
            if ($this->isAlone) {
                $this->usage->stop();
            }
            $end = $block->end[$next - 1];
            $this->start ??= $began;
            $block->segments[] = [$at, $next - 1, $began, $this->isAlone ? $this->timedNs : $began - $this->start];
            $this->timedNs = $this->isAlone ? $this->timedNs + $end - $began : $end - $this->start;
            $this->done += $next - $at;
            $this->failures->settle();
            $at = $next;
            $tell($this->done);
        }
    }
}
