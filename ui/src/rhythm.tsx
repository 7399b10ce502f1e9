// When a source changes: over the next day, and in each hour of a week.
import { get, part } from './api';
import { Frame, Hatch, Hours } from './charts';
import { hour, isKnown, percent, tidy } from './format';
import { useLoad, type Loaded } from './load';
import { Section, Show, useNumbers } from './parts';
import type { Rate, Version, Why } from './types';

/** Habits loads what was learned of a source and draws it. */
export function Habits({ id, why }: { id: string; why: Why }) {
  const rhythm = useLoad<Rhythm>((s) => get(`/sources/${part(id)}/rhythm`, {}, s), [id], 60_000);
  return (
    <>
      {(why.chances?.used || (rhythm.data && isKnown(rhythm.data.rate_per_day))) && <Ahead id={id} why={why} of={rhythm} />}
      <Week id={id} of={rhythm} />
    </>
  );
}

interface Given { from?: string; until?: string; rate_per_day?: number; add?: boolean; times?: { at: string; until?: string; chance?: number; expected?: number }[] }

/** An Hour of the day ahead: how likely a change is in it, and until its end. */
interface Hour { from: number; to: number; chance: number; by: number }

/** until is how much of a stretch is over at a time, from 0 to 1. */
const until = (from: number, to: number, at: number) => (at <= from ? 0 : at >= to ? 1 : (at - from) / (to - from));

/** ahead returns the next 24 hours, from now on and then by the hour of the clock. What was given counts while it holds. */
function ahead(now: number, rhythm: Rhythm, given?: Given): Hour[] {
  const hours: Hour[] = [];
  const starts = given?.from ? Date.parse(given.from) : -Infinity, ends = given?.until ? Date.parse(given.until) : Infinity;
  const times = (given?.times ?? []).map((t) => ({ ...t, from: Date.parse(t.at), to: t.until ? Date.parse(t.until) : Date.parse(t.at) + 60e3 }));
  let sum = 0; // of the changes that are expected at no time of their own
  for (let from = now; from < now + 86400e3;) {
    const to = Math.min(Math.floor(from / 3600e3 + 1) * 3600e3, now + 86400e3), at = new Date(from);
    const row = rhythm.week[(at.getUTCDay() + 6) % 7] ?? [];
    const learned = row.length ? (row[Math.floor((at.getUTCHours() * row.length) / 24)] * row.length) / 24 : 0;
    const held = given ? Math.max(0, Math.min(to, ends) - Math.max(from, starts)) / (to - from) : 0;
    let expected = ((to - from) / 3600e3) * (learned * (given?.add ? 1 : 1 - held) + ((given?.rate_per_day ?? 0) / 24) * held);
    let here = 1, since = 1; // how likely it is that none of the times brings a change, in this hour and until its end
    for (const t of times) {
      const [was, before, after] = [now, from, to].map((x) => until(t.from, t.to, x));
      if (t.expected !== undefined && t.chance === undefined) expected += t.expected * (after - before);
      else {
        here *= 1 - (t.chance ?? 1) * (after - before);
        if (was < 1) since *= (1 - (t.chance ?? 1) * after) / (1 - (t.chance ?? 1) * was);
      }
    }
    sum += expected;
    hours.push({ from, to, chance: 1 - here * Math.exp(-expected), by: 1 - since * Math.exp(-sum) });
    from = to;
  }
  return hours;
}

/** replaced says whether chances that were given hold in place of what was learned. */
const replaced = (given?: Given) => given !== undefined && !given.add;

/** likely writes a chance. Nothing that is only expected is certain. */
const likely = (chance: number) => (chance > 0.99 ? 'over 99%' : percent(chance));

/** Ahead draws how likely a change is over the next day. */
function Ahead({ id, why, of: rhythm }: { id: string; why: Why; of: Loaded<Rhythm> }) {
  const told = why.chances?.used ?? false;
  const given = useLoad<Given | undefined>((s) => (told ? get(`/sources/${part(id)}/chances`, {}, s) : Promise.resolve(undefined)), [id, told, why.chances?.times]);
  const now = Date.parse(why.at);
  const hours = rhythm.data && (!told || given.data) ? ahead(now, rhythm.data, given.data) : [];
  const [toggle, table] = useNumbers(['From', 'In this hour', 'By its end'], () => hours.map((h) => [hour(h.from), likely(h.chance), likely(h.by)]));
  const likeliest = hours.reduce<Hour | undefined>((best, h) => (best && best.chance >= h.chance ? best : h), undefined);
  const last = hours.at(-1), stands = likeliest && likeliest.chance > (1.2 * hours.reduce((sum, h) => sum + h.chance, 0)) / hours.length;
  return (
    <Section title="The next 24 hours" side={toggle}>
      <Show of={rhythm}>{(r) => last && likeliest && (!isKnown(r.rate_per_day) && !replaced(given.data) ? <p class="say">{tidy(r.sentence)}</p> : (
        <>
          <p class="say">A change within 24 hours is <b>{likely(last.by)}</b> likely{stands && `, most of all from ${hour(likeliest.from)}`}{told ? ', by the forecast that was set' : ''}. {why.outlook && isKnown(why.outlook.rate_per_day) && why.last_seen && `It has changed since the last poll with a chance of ${likely(why.outlook.chance)}.`}</p>
          <Frame label={`Chance of a change over the next 24 hours: ${likely(last.by)}, the highest in an hour ${likely(likeliest.chance)} from ${hour(likeliest.from)}`} height={132}>
            {(width) => <Saw hours={hours} next={why.next ? Date.parse(why.next) : 0} width={width} />}
          </Frame>
          <p class="small dim">Hatched: in each hour. Line: by then. This is a forecast{r.rate_per_day.known === 'at_least' && ', from a lower bound: every poll finds a change'}.</p>
        </>
      ))}</Show>
      {table}
    </Section>
  );
}

function Saw({ hours, next, width }: { hours: Hour[]; next: number; width: number }) {
  const left = 34, right = width - 8, top = 12, base = 100;
  const a = hours[0].from, b = hours.at(-1)!.to;
  const x = (t: number) => left + ((t - a) / (b - a)) * (right - left), y = (share: number) => base - share * (base - top);
  return (
    <>
      <Hatch id="h-ahead" />
      {[0.5, 1].map((s) => <g key={s}><line class="grid" x1={left} x2={right} y1={y(s)} y2={y(s)} /><text x={left - 6} y={y(s) + 4} text-anchor="end">{s * 100}%</text></g>)}
      {hours.map((h) => <rect key={h.from} x={x(h.from)} y={y(h.chance)} width={Math.max(1, x(h.to) - x(h.from) - 1)} height={base - y(h.chance)} fill="url(#h-ahead)" stroke="var(--river-fill)" stroke-width="0.5" />)}
      <path class="seen-line" stroke-dasharray="2 4" d={`M${x(a).toFixed(1)} ${base}` + hours.map((h) => `L${x(h.to).toFixed(1)} ${y(h.by).toFixed(1)}`).join('')} />
      <line class="axis" x1={left} x2={right} y1={base} y2={base} />
      {next > a && next < b && <g><line class="ink" x1={x(next)} x2={x(next)} y1={top} y2={base} /><text class="ink-text" x={Math.min(x(next) + 4, right - 46)} y={top - 3}>next poll</text></g>}
      <Hours from={new Date(a).toISOString()} to={new Date(b).toISOString()} left={left} right={right} y={base + 18} />
    </>
  );
}

interface Bin { factor: number; seen: number; due: number }
interface Rhythm { rate_per_day: Rate; week: number[][]; hours: Bin[]; weekdays: Bin[]; sentence: string }

const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** local turns a week of UTC into one of this computer's clock, hour by hour. */
function local(week: number[][]): number[][] {
  const shift = Math.round(-new Date().getTimezoneOffset() / 60) + 168;
  const out = days.map(() => new Array<number>(24).fill(0));
  week.forEach((hours, d) => {
    for (let h = 0; h < 24 && hours.length; h++) {
      const at = (d * 24 + h + shift) % 168;
      out[Math.floor(at / 24)][at % 24] += (hours[Math.floor((h * hours.length) / 24)] * hours.length) / 24;
    }
  });
  return out;
}

/** seenIn counts versions by the hour of the week in which each was seen, on this computer's clock. */
function seenIn(versions: Version[]): number[][] {
  const out = days.map(() => new Array<number>(24).fill(0));
  for (const v of versions) {
    const at = new Date(v.seen_at);
    if (v.number > 1 && !v.quiet) out[(at.getDay() + 6) % 7][at.getHours()]++;
  }
  return out;
}

/** Week draws when a source changes: as learned, and over it what was seen. */
function Week({ id, of: rhythm }: { id: string; of: Loaded<Rhythm> }) {
  const stored = useLoad<{ items: Version[] }>((s) => get(`/sources/${part(id)}/versions`, { since: new Date(Date.now() - 30 * 86400e3).toISOString(), limit: 1000 }, s), [id]);
  const seen = seenIn(stored.data?.items ?? []), busiest = Math.max(1, ...seen.flat());
  const known = rhythm.data && isKnown(rhythm.data.rate_per_day);
  const week = known ? local(rhythm.data!.week) : [], rowsOf = known ? week : seen.map((d) => d.map(() => 0));
  const rows = () => rowsOf.flatMap((d, i) => d.map((v, h) => [`${days[i]} ${String(h).padStart(2, '0')}:00`, known ? v.toPrecision(2) : 'not known yet', seen[i][h]]));
  const [toggle, table] = useNumbers(['Hour', 'Changes expected', 'Seen in 30 days'], rows);
  const most = Math.max(1e-9, ...week.flat()), now = new Date(), nothing = !known && seen.flat().every((n) => n === 0);
  return (
    <Section title="When it changes" side={!nothing && toggle}>
      <Show of={rhythm}>{(r) => (nothing ? <p class="say">{tidy(r.sentence)}</p> : (
        <Frame label="Changes expected and seen in each hour of the week" height={7 * 22 + 18}>
          {(width) => {
            const left = 38, step = (width - left) / 24;
            return (
              <>
                {[0, 6, 12, 18].map((h) => <text key={h} x={left + h * step} y="11">{String(h).padStart(2, '0')}</text>)}
                {rowsOf.map((d, i) => (
                  <g key={i}>
                    <text x="0" y={18 + i * 22 + 14}>{days[i]}</text>
                    {d.map((v, h) => (
                      <g key={h}>
                        <rect x={left + h * step} y={18 + i * 22} width={Math.max(1, step - 2)} height="20" rx="2" fill="var(--sunken)" />
                        <rect x={left + h * step} y={18 + i * 22} width={Math.max(1, step - 2)} height="20" rx="2" fill="var(--river-fill)" opacity={0.9 * (v / most)} />
                        {seen[i][h] > 0 && <circle class="was" cx={left + h * step + (step - 2) / 2} cy={28 + i * 22} r={1.5 + Math.min(step / 2 - 3, 3.5) * Math.sqrt(seen[i][h] / busiest)} />}
                        {(now.getDay() + 6) % 7 === i && now.getHours() === h && <rect x={left + h * step} y={18 + i * 22} width={Math.max(1, step - 2)} height="20" rx="2" fill="none" stroke="var(--ink)" stroke-width="1.5" />}
                      </g>
                    ))}
                  </g>
                ))}
              </>
            );
          }}
        </Frame>
      ))}</Show>
      {!nothing && <p class="small dim">{week.length > 0 ? 'Shade: changes expected. ' : 'When it is expected to change is not known yet. '}Dot: changes seen in the last 30 days. Outlined: now.</p>}
      {!nothing && table}
    </Section>
  );
}
