// What was captured, by the day. To count it takes a pass over the log of polls, so nobody does who was not asked.
import { get } from './api';
import { Frame, Hatch } from './charts';
import { count, dayOf, percent } from './format';
import { useLoad } from './load';
import { Section, Show, useNumbers } from './parts';
import type { Estimate } from './types';

interface Day { date: string; begins: string; polls: number; failed: number; changes: number; captured: number; missed: Estimate }
interface Days { from?: string; items: Day[] }

const asked = 14; // days

/** shareOf is what was captured of what there was; undefined if nothing is known to have been. */
const shareOf = (d: Day, missed: number) => (d.captured + missed > 0 ? d.captured / (d.captured + missed) : undefined);

/** ByDay counts what was captured on each day. */
export function ByDay() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
  const days = useLoad<Days>((s) => get('/numbers/days', { since: `${asked - 1}d`, zone }, s), []);
  const all = days.data?.items ?? [];
  const range = (d: Day) => [shareOf(d, d.missed.mean), shareOf(d, d.missed.high), shareOf(d, d.missed.low)];
  const rows = () => all.map((d) => {
    const [mean, low, high] = range(d);
    return [dayOf(d.begins), mean === undefined ? '–' : percent(mean), mean === undefined ? '–' : `${percent(low!)} to ${percent(high!)}`, count(d.changes), d.missed.mean.toFixed(1), count(d.polls), count(d.failed)];
  });
  const [toggle, table] = useNumbers(['Day', 'Captured', 'Range', 'Changes', 'Likely missed', 'Polls', 'Failed'], rows);
  return (
    <Section title="By day" note="the share captured; hatched is how far off it may be" side={toggle}>
      <Show of={days} bars={5}>{() => (
        <Frame label={`Share captured on each of ${all.length} days`} height={150}>
          {(width) => {
            const left = 40, top = 16, base = 118, step = (width - left) / Math.max(1, all.length), w = Math.min(56, Math.max(2, step - 6));
            const y = (share: number) => base - share * (base - top);
            return (
              <>
                <Hatch id="h-days" />
                {[0.5, 1].map((s) => <g key={s}><line class="grid" x1={left} x2={width} y1={y(s)} y2={y(s)} /><text x={left - 6} y={y(s) + 4} text-anchor="end">{s * 100}%</text></g>)}
                {all.map((d, i) => {
                  const [mean, low, high] = range(d), x = left + i * step + (step - w) / 2;
                  return (
                    <g key={d.date}>
                      {mean !== undefined && <rect class="seen" x={x} y={y(mean)} width={w} height={base - y(mean)} />}
                      {mean !== undefined && high! > low! && <rect x={x} y={y(high!)} width={w} height={y(low!) - y(high!)} fill="url(#h-days)" stroke="var(--surface)" stroke-width="1" />}
                      {(step > 44 || (all.length - 1 - i) % Math.ceil(44 / step) === 0) && <text x={x + w / 2} y={base + 16} text-anchor="middle">{dayOf(d.begins)}</text>}
                    </g>
                  );
                })}
                <line class="axis" x1={left} x2={width} y1={base} y2={base} />
              </>
            );
          }}
        </Frame>
      )}</Show>
      {days.data?.from && <p class="small dim">Counted from {dayOf(days.data.from)} on: there are too many polls to count them all.</p>}
      {table}
    </Section>
  );
}
