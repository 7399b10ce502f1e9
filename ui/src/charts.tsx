// Charts as SVG. Each has a name, and its screen offers its numbers as a table.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, dayOf, hour, percent } from './format';
import { useNumbers } from './parts';
import type { BudgetPoint, Outcome } from './types';

/** useWidth measures the room that a chart has. */
export function useWidth(): [(el: Element | null) => void, number] {
  const [width, set] = useState(0);
  const watch = useRef<ResizeObserver | undefined>(undefined);
  useEffect(() => () => watch.current?.disconnect(), []);
  const ref = (el: Element | null) => {
    if (!el || watch.current) return;
    watch.current = new ResizeObserver(([e]) => set(Math.round(e.contentRect.width)));
    watch.current.observe(el);
    set(Math.round(el.getBoundingClientRect().width));
  };
  return [ref, width];
}

/** Hatch is the pattern of what is thought and not seen. */
export function Hatch({ id }: { id: string }) {
  return (
    <defs>
      <pattern id={id} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line class="hatch-line" x1="0" y1="0" x2="0" y2="5" />
      </pattern>
    </defs>
  );
}

interface FrameProps { label: string; height: number; children: (width: number) => ComponentChildren }

/** Frame is a chart as wide as there is room. */
export function Frame({ label, height, children }: FrameProps) {
  const [ref, width] = useWidth();
  return (
    <div ref={ref}>
      <svg class="chart" role="img" aria-label={label} height={height} viewBox={`0 0 ${Math.max(width, 1)} ${height}`}>
        {width > 0 && children(width)}
      </svg>
    </div>
  );
}

/** nice returns round numbers up to most, for lines across a chart. */
export function nice(most: number, lines = 3): number[] {
  if (most <= 0) return [];
  const raw = most / lines, size = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(1, [1, 2, 5, 10].find((s) => s * size >= raw)! * size);
  const marks = [];
  for (let v = step; v <= most; v += step) marks.push(v);
  return marks;
}

/** Minute draws the last minute, request by request; cut says that there may be earlier outcomes in it. */
export function Minute({ outcomes, cut, most, now }: { outcomes: Outcome[]; cut: boolean; most: number; now: number }) {
  const recent = outcomes.filter((o) => now - Date.parse(o.began) < 60_000).reverse();
  const some = cut && recent.length === outcomes.length;
  const slots = some ? recent.length : Math.max(most, recent.length, 1);
  const shown = slots <= 120;
  const found = recent.filter((o) => o.result === 'changed').length;
  const failed = recent.filter((o) => o.result === 'failed').length;
  const free = some ? 0 : Math.max(0, most - recent.length);
  const [toggle, table] = useNumbers(['The last minute', 'Requests'], () => [['found a change', found], ['nothing new', recent.length - found - failed], ['failed', failed], ['free', free]]);
  const label = `The last minute: ${recent.length} polls, ${found} found a change, ${failed} failed`;
  return (
    <>
      <Frame label={label} height={42}>
        {(width) => {
          if (!shown) return <Shares width={width} parts={[['seen', found], ['idle', recent.length - found - failed], ['bad', failed]]} of={slots} />;
          const step = width / slots, w = Math.max(1, step - Math.min(2, step / 4));
          return (
            <g>
              {Array.from({ length: slots }, (_, i) => {
                const o = recent[i];
                const tall = o?.result === 'changed' || o?.result === 'failed';
                const kind = !o ? 'free' : o.result === 'failed' ? 'failed' : tall ? 'seen' : 'idle';
                const y = tall ? 2 : 13, h = tall ? 24 : 13;
                if (kind === 'free') return <rect key={i} x={i * step + 0.5} y={y} width={Math.max(1, w - 1)} height={h} fill="none" stroke="var(--line-2)" />;
                if (kind === 'failed') return <rect key={i} x={i * step + 0.75} y={y} width={Math.max(1, w - 1.5)} height={h} fill="none" stroke="var(--flare-fill)" stroke-width="1.5" />;
                return <rect key={i} class={kind} x={i * step} y={y} width={w} height={h} />;
              })}
            </g>
          );
        }}
      </Frame>
      <div class="row">
      <p class="legend grow">
        <span>{count(found)} found a change</span>
        <span class="l-idle">{count(recent.length - found - failed)} nothing new</span>
        <span class="l-bad">{count(failed)} failed</span>
        {some && <span>of the last {recent.length} polls</span>}
        {free > 0 && <span class="l-free">{count(free)} free</span>}
      </p>
      {toggle}
      </div>
      {table}
    </>
  );
}

function Shares({ width, parts, of }: { width: number; parts: [string, number][]; of: number }) {
  let x = 0;
  return (
    <g>
      <rect class="idle" x="0" y="8" width={width} height="18" opacity=".35" />
      {parts.map(([kind, n]) => {
        const w = (n / of) * width;
        const rect = <rect key={kind} class={kind} x={x} y="8" width={w} height="18" />;
        x += w;
        return rect;
      })}
    </g>
  );
}

export interface Bucket { at: string; changes: number; missed: number; polls: number; failed: number; note?: string }

/** Hydrograph draws changes over time: solid was seen, hatched is thought. */
export function Hydrograph({ buckets, hatch }: { buckets: Bucket[]; hatch: string }) {
  const most = Math.max(1, ...buckets.map((b) => b.changes + b.missed));
  const polls = Math.max(1, ...buckets.map((b) => b.polls));
  const top = 20, base = 160, foot = 172, deep = 24;
  return (
    <Frame label={`Changes over the last ${buckets.length} stretches: at most ${Math.round(most)} in one`} height={220}>
      {(width) => {
        const left = 34, right = width > 700 ? 92 : 4;
        const step = (width - left - right) / Math.max(1, buckets.length), w = Math.max(1, step - (step > 4 ? 1 : 0));
        const y = (n: number) => base - (n / most) * (base - top);
        return (
          <>
            <Hatch id={hatch} />
            {nice(most).map((v) => (
              <g key={v}>
                <line class="grid" x1={left} x2={width - right} y1={y(v)} y2={y(v)} />
                <text x={left - 6} y={y(v) + 4} text-anchor="end">{v}</text>
              </g>
            ))}
            {buckets.map((b, i) => {
              const x = left + i * step;
              return (
                <g key={b.at}>
                  {b.missed > 0.05 && <rect x={x} y={y(b.changes + b.missed)} width={w} height={Math.max(0, y(b.changes) - y(b.changes + b.missed))} fill={`url(#${hatch})`} />}
                  {b.changes > 0 && <rect class="seen" x={x} y={y(b.changes)} width={w} height={base - y(b.changes)} />}
                  {b.polls > 0 && <rect class="idle" opacity=".6" x={x} y={foot} width={w} height={deep * (b.polls / polls)} />}
                  {b.failed > 0 && <rect class="bad" x={x} y={foot + deep * (b.polls / polls) - Math.max(3, deep * (b.failed / polls))} width={w} height={Math.max(3, deep * (b.failed / polls))} />}
                  {b.note && <text class="label-bad" x={x} y={foot - 2}>{b.note}</text>}
                </g>
              );
            })}
            <line class="axis" x1={left} x2={width - right} y1={base} y2={base} />
            <Hours from={buckets[0]?.at} to={buckets.at(-1)?.at} left={left} right={width - right} y={foot + deep + 16} top={top} />
            {right > 50 && (
              <>
                <text x={width - right + 8} y={top + 40}>likely missed</text>
                <text class="label-seen" x={width - right + 8} y={base - 24}>captured</text>
                <text x={width - right + 8} y={foot + 10}>polls,</text>
                <text class="label-bad" x={width - right + 8} y={foot + 23}>failed</text>
              </>
            )}
          </>
        );
      }}
    </Frame>
  );
}

/** Hours writes the time below a chart, and a line at midnight. */
export function Hours({ from, to, left, right, y, top }: { from?: string; to?: string; left: number; right: number; y: number; top?: number }) {
  if (!from || !to) return null;
  const a = Date.parse(from), b = Date.parse(to);
  if (!(b > a)) return null;
  const room = (right - left) / 90;
  const stepH = [1, 3, 6, 12, 24].find((h) => (b - a) / (h * 3600e3) <= room) ?? 24;
  const marks = [];
  const first = new Date(a);
  first.setMinutes(0, 0, 0);
  for (let t = first.getTime(); t <= b; t += 3600e3) {
    const d = new Date(t);
    if (t < a || d.getHours() % stepH !== 0) continue;
    const x = left + ((t - a) / (b - a)) * (right - left);
    const midnight = d.getHours() === 0;
    marks.push(
      <g key={t}>
        {top !== undefined && <line class={midnight ? 'axis' : 'grid'} x1={x} x2={x} y1={top} y2={y - 14} />}
        <text x={x} y={y} text-anchor="middle">{midnight ? dayOf(d) : hour(d)}</text>
      </g>,
    );
  }
  return <>{marks}</>;
}

/** WhatIf draws what other budgets would capture. */
export function WhatIf({ curve, now, at, hatch }: { curve: BudgetPoint[]; now: BudgetPoint; at: BudgetPoint; hatch: string }) {
  return (
    <Frame label={`Share captured by budget: ${percent(now.share.mean)} at present, ${percent(at.share.mean)} at ${Math.round(at.polls_per_day / 1440)} a minute`} height={190}>
      {(width) => {
        const left = 36, right = width - 12, top = 10, base = 156;
        const lows = Math.log(curve[0].polls_per_day), highs = Math.log(curve.at(-1)!.polls_per_day);
        const x = (p: BudgetPoint) => left + ((Math.log(p.polls_per_day) - lows) / (highs - lows || 1)) * (right - left);
        const y = (s: number) => base - s * (base - top);
        const path = (pick: (p: BudgetPoint) => number) => curve.map((p, i) => `${i ? 'L' : 'M'}${x(p).toFixed(1)} ${y(pick(p)).toFixed(1)}`).join('');
        const back = [...curve].reverse().map((p) => `L${x(p).toFixed(1)} ${y(p.share.low).toFixed(1)}`).join('');
        const per = (p: BudgetPoint) => perMinute(p.polls_per_day);
        return (
          <>
            <Hatch id={hatch} />
            {[0.25, 0.5, 0.75, 1].map((s) => (
              <g key={s}>
                <line class="grid" x1={left} x2={right} y1={y(s)} y2={y(s)} />
                <text x={left - 6} y={y(s) + 4} text-anchor="end">{s * 100}%</text>
              </g>
            ))}
            <path d={path((p) => p.share.high) + back + 'Z'} fill={`url(#${hatch})`} opacity=".55" />
            <path class="seen-line" d={path((p) => p.share.mean)} />
            <line class="axis" x1={left} x2={right} y1={base} y2={base} />
            <line class="dash" x1={x(now)} x2={x(now)} y1={y(now.share.mean)} y2={base} />
            <circle cx={x(now)} cy={y(now.share.mean)} r="4" fill="var(--surface)" stroke="var(--river-fill)" stroke-width="2" />
            <text x={x(now)} y={base + 15} text-anchor="middle">now {per(now)}</text>
            {at !== now && <circle class="seen" cx={x(at)} cy={y(at.share.mean)} r="5" />}
            {at !== now && <text class="ink-text" x={Math.min(x(at), right - 20)} y={base + 30} text-anchor="middle">{per(at)}</text>}
          </>
        );
      }}
    </Frame>
  );
}

/** perMinute writes requests a day as a budget. */
export function perMinute(perDay: number): string {
  const m = perDay / 1440;
  if (m >= 600) return Math.round(m / 60) + '/s';
  if (m >= 0.95) return (m < 10 ? Math.round(m * 10) / 10 : Math.round(m)) + '/m';
  return m * 60 >= 0.95 ? Math.round(m * 60) + '/h' : Math.round(perDay) + '/d';
}

/** Series draws a field's values over time. */
export function Series({ points, label }: { points: { at: string; value: number }[]; label: string }) {
  const values = points.map((p) => p.value);
  const low = Math.min(...values), high = Math.max(...values), room = high - low || 1;
  return (
    <Frame label={label} height={120}>
      {(width) => {
        const left = 56, right = width - 8, top = 10, base = 92;
        const a = Date.parse(points[0].at), b = Date.parse(points.at(-1)!.at);
        const x = (t: string) => (b > a ? left + ((Date.parse(t) - a) / (b - a)) * (right - left) : right);
        const y = (v: number) => base - ((v - low) / room) * (base - top);
        // A value holds until the next: steps, not slopes.
        const d = points.map((p, i) => (i ? `H${x(p.at).toFixed(1)}V${y(p.value).toFixed(1)}` : `M${x(p.at).toFixed(1)} ${y(p.value).toFixed(1)}`)).join('');
        return (
          <>
            {[low, high].map((v, i) => (
              <g key={i}>
                <line class="grid" x1={left} x2={right} y1={y(v)} y2={y(v)} />
                <text x={left - 6} y={y(v) + 4} text-anchor="end">{v}</text>
              </g>
            ))}
            <path class="seen-line" d={d} />
            <circle class="seen" cx={x(points.at(-1)!.at)} cy={y(values.at(-1)!)} r="3.5" />
            <Hours from={points[0].at} to={points.at(-1)!.at} left={left} right={right} y={112} />
          </>
        );
      }}
    </Frame>
  );
}
