<?php

declare(strict_types=1);

namespace LarderGuest;

/**
 * One process's share of a phase: blocks are made ready, worked through, sent to Larder. A process alone stops its
 * clock while it prepares and sends. Each of several processes keeps its clock running, because the other processes
 * have the cache to themselves meanwhile. So each of them prepares and sends as much at once as memory allows, mostly
 * everything.
 */
final class Phase
{
    /** The limits of a block. For a process alone: as much as stays in a processor's cache. */
    private const OPERATIONS_ALONE = 4_096;
    private const OPERATIONS_OF_SEVERAL = 262_144;
    private const BYTES_ALONE = 4 << 20;
    private const BYTES_OF_SEVERAL = 64 << 20;
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
    private readonly Records $records;
    private readonly Usage $usage;
    /** The number of operations in the block. */
    private int $filled;
    private int $done = 0;
    private int $timedNs = 0;
    private ?int $start = null;

    /** `$phase` and `$process` are counted from 0. */
    public function __construct(Plan $plan, private readonly Cache $cache, int $phase, int $process)
    {
        $what = $plan->phases[$phase];
        $this->isAlone = $plan->processes === 1;
        $this->again = $what['again'] && $what['time_limit_s'] !== null;
        $this->limitNs = $what['time_limit_s'] === null ? PHP_INT_MAX : (int) round($what['time_limit_s'] * 1e9);
        [$this->first, $this->operations] = $what['shares'][$process];
        $held = $plan->replays ? $plan->heldBefore($phase, $process) : 0;
        if ($held !== 0) {
            $cache->set('held', $plan->value($held), null);
        }
        $operations = $this->isAlone ? self::OPERATIONS_ALONE : self::OPERATIONS_OF_SEVERAL;
        // Unanswered sets are waited for at the end of a block, so blocks are large then and the waits do not count.
        $bytes = $this->isAlone && $cache->acknowledges() ? self::BYTES_ALONE : self::BYTES_OF_SEVERAL;
        $meetsNewer = !$this->isAlone || $what['again'];
        $this->block = new Block($plan, $operations, $bytes, $what['multiget'], $meetsNewer, $held);
        $this->loop = new Loop($cache, $this->block, $plan->ttl);
        $this->failures = new Failures($cache, $this->block);
        $this->records = new Records($plan->folder, $process);
        $this->usage = new Usage();
        $this->filled = $this->block->fill($this->first, $this->operations);
    }

    /**
     * Does the share, sends its records, and calls `$tell` with the number of operations done so far several times a
     * second. Returns the number of values stored.
     *
     * @param \Closure(int): void $tell
     */
    public function run(\Closure $tell): int
    {
        $this->cache->connections();
        $this->cache->tierCounts();
        if (!$this->isAlone) {
            $this->usage->start();
        }
        $position = 0;
        $stored = 0;
        while ($this->filled > 0) {
            $this->records->awaitCount();
            $count = $this->workThroughBlock($tell);
            $this->records->sendBlock($this->block, $count);
            $stored += $this->block->stored($count);
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
        [$userNs, $systemNs] = $this->usage->cpuNs();
        $this->records->sendEnd([
            'cpu_user_ns' => $userNs,
            'cpu_system_ns' => $systemNs,
            'rss_bytes' => Usage::rssBytes(),
            'connections' => $this->cache->connections(),
            'tiers' => $this->cache->tierCounts(),
        ]);
        return $stored;
    }

    /** Returns the number of operations of the block that are done. */
    private function workThroughBlock(\Closure $tell): int
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
            $block->segments[] = [$at, $began];
            $this->timedNs = $this->isAlone ? $this->timedNs + $end - $began : $end - $this->start;
            $this->done += $next - $at;
            $this->failures->settle();
            $at = $next;
            $tell($this->done);
        }
        return $at;
    }
}
