// The curves of a run of the lab: what each policy makes of each budget, and what was possible.
import { Frame, perMinute } from './charts';
import { millis, percent, span } from './format';
import type { LabBudget, LabResult, LabScore } from './types';

export type Measure = 'recall' | 'worth' | 'freshness' | 'age';

export const measures: Record<Measure, { word: string; of: (s: LabScore) => number; write: (v: number) => string }> = {
  recall: { word: 'Captured', of: (s) => s.recall, write: percent },
  worth: { word: 'Worth', of: (s) => s.worth, write: percent },
  freshness: { word: 'Fresh', of: (s) => s.freshness, write: percent },
  age: { word: 'Age', of: (s) => millis(s.age), write: span },
};

/** dashes tell policies apart without a colour. */
const dashes = ['', '7 3', '2 3', '9 3 2 3', '1 4', '12 3', '4 2 1 2', '3 6'];

/** Swatch is the line of a policy, as the chart draws it. */
export function Swatch({ at }: { at: number }) {
  return (
    <svg class="chart swatch" width="28" height="8" aria-hidden="true">
      {at < 0 ? <path d="M14 0l4 4-4 4-4-4z" fill="var(--ink)" /> : <line class={at === 0 ? 'seen-line' : 'ink'} x1="0" x2="28" y1="4" y2="4" stroke-width="1.5" stroke-dasharray={dashes[at % dashes.length]} />}
    </svg>
  );
}

interface Curve { name: string; at: number; points: number[]; limit?: boolean }

/** curvesOf returns the lines of a chart: those of the policies, and the limit where there is one. */
function curvesOf(r: LabResult, m: Measure): Curve[] {
  const curves: Curve[] = r.budgets[0].trials.map((t, at) => ({ name: t.policy, at, points: r.budgets.map((b) => measures[m].of(b.trials[at])) }));
  const bounded = m === 'worth' || (m === 'recall' && !r.weighed);
  if (bounded) curves.push({ name: 'limit', at: -1, limit: true, points: r.budgets.map((b) => b.limit) });
  return curves;
}

/** spread moves labels apart that would lie on each other. */
function spread(wanted: number[], room: number, top: number, bottom: number): number[] {
  const order = wanted.map((y, i) => [y, i]).sort((a, b) => a[0] - b[0]);
  const out: number[] = [];
  let last = top - room;
  for (const [y, i] of order) out[i] = last = Math.max(y, last + room);
  let over = bottom;
  for (const [, i] of order.reverse()) {
    out[i] = Math.min(out[i], over);
    over = out[i] - room;
  }
  return out;
}

export function Curves({ of: r, measure }: { of: LabResult; measure: Measure }) {
  const { word, write, of } = measures[measure];
  const curves = curvesOf(r, measure), timed = measure === 'age';
  const most = timed ? Math.max(1, of(r.recorded), ...curves.flatMap((c) => c.points)) : 1;
  const spent = perDay(r.spent), days = r.budgets.map((b) => b.polls_per_day);
  const low = Math.log(Math.min(spent || days[0], ...days)), high = Math.log(Math.max(spent || days[0], ...days));
  return (
    <Frame label={`${word} by budget, of ${r.budgets[0].trials.map((t) => t.policy).join(', ')}: the numbers are in the table`} height={300}>
      {(width) => {
        const left = 46, right = width - 104, top = 12, base = 250;
        const x = (d: number) => (high > low ? left + ((Math.log(d) - low) / (high - low)) * (right - left) : (left + right) / 2);
        const y = (v: number) => base - (v / most) * (base - top);
        const ends = spread(curves.map((c) => y(c.points.at(-1)!)), 14, top, base);
        const every = Math.max(1, Math.ceil((r.budgets.length * 54) / Math.max(1, right - left)));
        return (
          <>
            {[0, 0.25, 0.5, 0.75, 1].map((s) => (
              <g key={s}>
                <line class="grid" x1={left} x2={right} y1={y(s * most)} y2={y(s * most)} />
                <text x={left - 6} y={y(s * most) + 4} text-anchor="end">{s === 0 ? '0' : write(s * most)}</text>
              </g>
            ))}
            {r.budgets.map((b, i) => i % every === 0 && <text key={b.budget} x={x(b.polls_per_day)} y={base + 18} text-anchor="middle">{b.budget}</text>)}
            {curves.map((c, i) => (
              <g key={c.name}>
                <path class={c.at === 0 ? 'seen-line' : c.limit ? 'dash nofill' : 'ink'} stroke-width={c.at === 0 ? 2.5 : 1.4} stroke-dasharray={c.limit ? undefined : dashes[c.at % dashes.length]} d={c.points.map((v, n) => `${n ? 'L' : 'M'}${x(days[n]).toFixed(1)} ${y(v).toFixed(1)}`).join('')} />
                {!c.limit && c.points.map((v, n) => <circle key={n} class={c.at === 0 ? 'seen' : 'dot'} cx={x(days[n])} cy={y(v)} r={c.at === 0 ? 3.5 : 2.2} />)}
                <line class="grid" x1={right + 3} x2={right + 10} y1={y(c.points.at(-1)!)} y2={ends[i]} />
                <text class={c.at === 0 ? 'label-seen' : c.limit ? '' : 'ink-text'} x={right + 12} y={ends[i] + 4}>{clip(c.name)} {!timed && write(c.points.at(-1)!)}</text>
              </g>
            ))}
            {spent > 0 && <path d={`M${x(spent)} ${y(of(r.recorded)) - 5}l5 5-5 5-5-5z`} fill="var(--ink)" />}
            {spent > 0 && <text class="ink-text" x={Math.min(x(spent), right - 60)} y={y(of(r.recorded)) < top + 20 ? y(of(r.recorded)) + 18 : y(of(r.recorded)) - 9} text-anchor="middle">recorded {write(of(r.recorded))}</text>}
            <line class="axis" x1={left} x2={right} y1={base} y2={base} />
            <text x={(left + right) / 2} y={base + 38} text-anchor="middle">{high > low ? 'budget' : perMinute(days[0])}</text>
          </>
        );
      }}
    </Frame>
  );
}

const clip = (name: string) => (name.length > 12 ? name.slice(0, 11) + '…' : name);

/** perDay reads a budget such as 10/m or 3/30s. */
export function perDay(budget: string): number {
  const [n, per] = budget.split('/');
  const ms = millis(/^\d/.test(per) ? per : '1' + per);
  return ms > 0 ? (Number(n) * 86_400e3) / ms : 0;
}

/** nearest is the budget next to the one that was spent. */
export function nearest(budgets: LabBudget[], spent: number): number {
  let best = 0;
  budgets.forEach((b, i) => {
    if (Math.abs(Math.log(b.polls_per_day / spent)) < Math.abs(Math.log(budgets[best].polls_per_day / spent))) best = i;
  });
  return best;
}
