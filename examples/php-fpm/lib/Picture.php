<?php

declare(strict_types=1);

namespace Larder\Example;

/** Draws a run: where the rows came from, and how long visitors waited, over time. */
final class Picture
{
    private const WIDTH = 860;
    private const LEFT = 70;
    private const RIGHT = 150;
    private const COLOURS = ['file' => '#2f7d4f', 'memcached' => '#c98b1f', 'database' => '#b8433a', 'failed' => '#000000'];
    private const QUANTILES = ['p50' => [0.5, '#35618f'], 'p99' => [0.99, '#8f356b']];
    /** The axis of latencies, in milliseconds. */
    private const LATENCIES = [0.1, 1_000.0];

    private readonly float $start;
    private readonly float $seconds;
    private string $drawn = '';

    /**
     * @param list<array<string, mixed>> $visits
     * @param array<string, float> $marks What was done when
     */
    private function __construct(private readonly array $visits, private readonly array $marks)
    {
        $this->start = $visits[0]['at'];
        $this->seconds = max(0.001, end($visits)['at'] - $this->start);
    }

    /**
     * @param list<array<string, mixed>> $visits
     * @param array<string, float> $marks
     */
    public static function of(array $visits, array $marks): string
    {
        $picture = new self($visits, $marks);
        $picture->levels(60, 200);
        $picture->latencies(320, 200);
        $picture->marks(60, 520);
        return $picture->whole(570);
    }

    /** Areas one on the other: the share of each level in the answers of an interval. */
    private function levels(int $top, int $height): void
    {
        $this->title($top, 'Where the rows came from');
        foreach ([0, 50, 100] as $percent) {
            $this->line($top + $height * (1 - $percent / 100), "$percent %");
        }
        $under = [];
        foreach (array_keys(self::COLOURS) as $level) {
            $upper = $lower = [];
            foreach ($this->intervals() as [$x, $visits]) {
                $before = $under[(string) $x] ?? 0.0;
                $of = array_filter($visits, static fn (array $visit): bool => $visit['level'] === $level);
                $share = count($of) / count($visits);
                $under[(string) $x] = $before + $share;
                $upper[] = sprintf('%.1f,%.1f', $x, $top + $height * (1 - $before - $share));
                array_unshift($lower, sprintf('%.1f,%.1f', $x, $top + $height * (1 - $before)));
            }
            $points = implode(' ', [...$upper, ...$lower]);
            $this->drawn .= sprintf('<polygon points="%s" fill="%s"/>' . "\n", $points, self::COLOURS[$level]);
        }
        $this->legend($top, array_diff_key(self::COLOURS, $this->hasFailed() ? [] : ['failed' => '']));
    }

    private function latencies(int $top, int $height): void
    {
        $this->title($top, 'How long visitors waited');
        [$least, $most] = array_map(log10(...), self::LATENCIES);
        $part = static fn (float $ms): float => (log10(max($ms, self::LATENCIES[0])) - $least) / ($most - $least);
        $y = static fn (float $ms): float => $top + $height * (1 - $part($ms));
        foreach ([0.1, 1, 10, 100, 1_000] as $ms) {
            $this->line($y($ms), "$ms ms");
        }
        foreach (self::QUANTILES as [$quantile, $colour]) {
            $points = [];
            foreach ($this->intervals() as [$x, $visits]) {
                $times = array_column($visits, 'took_ms');
                sort($times);
                $points[] = sprintf('%.1f,%.1f', $x, $y($times[(int) ((count($times) - 1) * $quantile)]));
            }
            $points = implode(' ', $points);
            $this->drawn .= "<polyline points=\"$points\" fill=\"none\" stroke=\"$colour\" stroke-width=\"1.6\"/>\n";
        }
        $this->legend($top, array_map(static fn (array $of): string => $of[1], self::QUANTILES));
    }

    /** Vertical lines where something was done to the servers, and the axis of time. */
    private function marks(int $top, int $bottom): void
    {
        foreach ($this->marks as $name => $at) {
            $x = $this->x($at);
            $this->drawn .= sprintf(
                '<line x1="%1$.1f" x2="%1$.1f" y1="%2$d" y2="%3$d" stroke="#666" stroke-dasharray="3 3"/>'
                . '<text x="%1$.1f" y="%4$d" text-anchor="middle" font-size="11">%5$s</text>' . "\n",
                $x, $top, $bottom, $top - 6, htmlspecialchars($name),
            );
        }
        $step = max(1, (int) round($this->seconds / 8));
        for ($second = 0; $second <= $this->seconds; $second += $step) {
            $x = $this->x($this->start + $second);
            $label = '<text x="%.1f" y="%d" text-anchor="middle" font-size="11">%d s</text>' . "\n";
            $this->drawn .= sprintf($label, $x, $bottom + 18, $second);
        }
    }

    /** @return list<array{float, list<array<string, mixed>>}> The place of each interval with answers, and its answers. */
    private function intervals(): array
    {
        $length = $this->seconds / 120;
        $intervals = [];
        foreach ($this->visits as $visit) {
            $intervals[(int) (($visit['at'] - $this->start) / $length)][] = $visit;
        }
        $placed = [];
        foreach ($intervals as $n => $visits) {
            $placed[] = [$this->x($this->start + min(($n + 0.5) * $length, $this->seconds)), $visits];
        }
        return $placed;
    }

    private function hasFailed(): bool
    {
        return array_filter(array_column($this->visits, 'failed')) !== [];
    }

    private function x(float $at): float
    {
        return self::LEFT + (self::WIDTH - self::LEFT - self::RIGHT) * ($at - $this->start) / $this->seconds;
    }

    private function title(int $top, string $text): void
    {
        $label = '<text x="%d" y="%d" font-size="14" font-weight="bold">%s</text>' . "\n";
        $this->drawn .= sprintf($label, self::LEFT, $top - 22, $text);
    }

    private function line(float $y, string $label): void
    {
        $this->drawn .= sprintf(
            '<line x1="%d" x2="%d" y1="%3$.1f" y2="%3$.1f" stroke="#ddd"/>'
            . '<text x="%4$d" y="%5$.1f" text-anchor="end" font-size="11">%6$s</text>' . "\n",
            self::LEFT, self::WIDTH - self::RIGHT, $y, self::LEFT - 6, $y + 4, $label,
        );
    }

    /** @param array<string, string> $colours */
    private function legend(int $top, array $colours): void
    {
        foreach (array_keys($colours) as $n => $name) {
            $y = $top + 10 + 20 * $n;
            $x = self::WIDTH - self::RIGHT + 16;
            $this->drawn .= sprintf(
                '<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d" font-size="12">%s</text>' . "\n",
                $x, $y, $colours[$name], $x + 18, $y + 10, $name,
            );
        }
    }

    private function whole(int $height): string
    {
        return sprintf(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" font-family="sans-serif" role="img" '
            . 'aria-label="Hit levels and latency of php-fpm during a rolling restart">' . "\n"
            . '<rect width="%1$d" height="%2$d" fill="#fff"/>' . "\n%3\$s</svg>\n",
            self::WIDTH, $height, $this->drawn,
        );
    }
}
