// What needs attention, source by source, each with the one click that mends it.
import { address, get, part, send } from './api';
import { count, millis, percent, plural, rate, span, tidy } from './format';
import { quote } from './lines';
import { useAction, useLoad } from './load';
import { AsLines, Button, Mark, moodWords, nameOf, Outcome, Section, Show, sourcePath, type Mood } from './parts';
import { Remedies } from './remedies';
import type { Attention, Overview as Data, Rate, Source } from './types';

interface Eater { id: string; polls_per_day: number; gap: string; rate_per_day: Rate; captured_per_day: number }
interface Pledge { id: string; level: string; kept: boolean; hold?: string; share: number; gap: string; need_gap?: string; need_per_day: number }
interface Market { now: { polls_per_day: number }; too_early?: string; eaters?: Eater[]; levels?: { items?: Pledge[] } }

/** A Remedy is one click: a request, and what it says afterwards. */
interface Remedy { word: string; method: string; path: string; body?: unknown; query?: Record<string, string | boolean | number>; cli: string; says: (answer: never) => string }

interface Row { id: string; name: string; is: Mood; kind: string; text: string; remedies: Remedy[]; source?: Source }

const most = 5; // of a kind are named

/** patch is a remedy that changes a source. */
const patch = (id: string, word: string, body: Record<string, unknown>, flags: string, says: string): Remedy =>
  ({ word, method: 'PATCH', path: `/sources/${part(id)}`, body, cli: `freshet edit ${quote(id)} ${flags}`, says: () => says });

/** troubled is a source that says itself what is wrong with it, and what may help. */
function troubled(s: Source, is: Mood, kind: string, text: string): Row {
  return { id: s.id, name: nameOf(s), is, kind, text, remedies: [], source: s };
}

const failing = (s: Source) => troubled(s, 'failing', 'Failing', `${plural(s.standing.failures, 'failure')} in a row: ${s.standing.last_error?.message ?? 'unknown'}.`);

const suspect = (s: Source) => troubled(s, 'suspect', 'Suspect', `Probably the wrong page: ${s.standing.suspect?.reason ?? 'it looks different'}. Stored, but not reported.`);

const noisy = (s: Source) => troubled(s, 'noisy', 'Noisy', 'It differs at nearly every poll.');

/** moved reads what the overview says of a source that has moved for good. */
function moved(a: Attention): Row[] {
  const id = a.source, to = a.text.slice(a.text.lastIndexOf(' ') + 1);
  if (!id) return [];
  return [{ id, name: id, is: 'level', kind: 'Moved', text: `It has moved for good to ${to}.`, remedies: [patch(id, 'Watch it there', { url: to }, `--url ${quote(to)}`, 'It is watched there now.')] }];
}

const holds: Record<string, string> = { budget: 'the budget is too small', host: 'its host allows no more polls', min_gap: 'its minimum interval is too long', source_gap: 'the minimum interval of all sources is too long', rate: 'it changes too often', unknown: 'too little is known of it', worth: 'other sources need the polls more' };

function starved(p: Pledge): Row {
  const can = p.need_gap && (p.hold === 'worth' || p.hold === 'budget');
  return {
    id: p.id, name: p.id, is: 'level', kind: moodWords.level, text: `${p.level} is wanted, ${percent(p.share)} is expected: ${holds[p.hold ?? ''] ?? p.hold ?? ''}.${p.need_per_day ? ` It would take ${count(p.need_per_day)} polls a day.` : ''}`,
    remedies: can ? [patch(p.id, `Poll every ${span(millis(p.need_gap))}`, { max_gap: p.need_gap }, `--max-gap ${p.need_gap}`, 'It is polled as often as the service level needs.')] : p.hold === 'min_gap' ? [patch(p.id, 'Remove the interval', { min_gap: null }, '--min-gap 0s', 'It is polled more often now.')] : [],
  };
}

/** expensive are sources that take much of the budget and bring next to nothing. */
function expensive(m: Market): Row[] {
  if (m.too_early) return [];
  return (m.eaters ?? []).filter((e) => e.rate_per_day.known !== 'unknown' && e.polls_per_day > 24 && e.polls_per_day > m.now.polls_per_day * 0.05 && e.captured_per_day < e.polls_per_day / 100).slice(0, most).map((e) => ({
    id: e.id, name: e.id, is: 'level' as Mood, kind: 'Expensive', text: `${count(e.polls_per_day)} polls a day, ${percent(e.polls_per_day / m.now.polls_per_day)} of the budget, find ${rate(e.captured_per_day)} changes.`,
    remedies: [patch(e.id, 'At most every hour', { min_gap: '1h' }, '--min-gap 1h', 'It is polled once an hour at most.')],
  }));
}

/** find gathers what needs attention, as far as it can be mended at a source. */
async function find(signal: AbortSignal, items: Attention[], sources: Data['sources']): Promise<Row[]> {
  const list = async (state: string, n: number) => (n > 0 ? (await get<{ items: Source[] }>('/sources', { state, limit: most }, signal)).items : []);
  const [bad, doubted, loud, market] = await Promise.all([
    list('failing', sources.failing), list('suspect', sources.suspect), list('noisy', sources.noisy),
    get<Market>('/budget', { points: 1, eaters: 20, levels: true }, signal).catch(() => undefined),
  ]);
  const rows = [
    ...bad.map(failing), ...items.filter((a) => a.kind === 'moved').flatMap(moved),
    ...(market?.levels?.items ?? []).filter((p) => !p.kept).slice(0, most).map(starved), ...doubted.map(suspect), ...loud.map(noisy), ...(market ? expensive(market) : []),
  ];
  return Promise.all(rows.map(async (r) => (r.source ? r : { ...r, name: nameOf(await get<Source>('/sources/' + part(r.id), {}, signal).catch(() => r)) })));
}

const words: Record<string, string> = { trouble: 'Nothing is captured', stopped: 'Nothing is polled', disk: 'Disk', webhook: 'Delivery' };

export function AttentionSection({ items, sources, reload }: { items: Attention[]; sources: Data['sources']; reload: () => void }) {
  const rows = useLoad((s) => find(s, items, sources), [sources.failing, sources.suspect, sources.noisy, items.filter((a) => a.kind === 'moved').length], 60_000);
  const chips: [string, Mood, number][] = [['Failing', 'failing', sources.failing], ['Suspect', 'suspect', sources.suspect], ['Noisy', 'noisy', sources.noisy], ['Paused', 'paused', sources.paused]];
  const program = items.filter((a) => a.kind in words);
  const n = program.length + (rows.data?.length ?? 0);
  return (
    <Section title="Needs attention" note={n || ''}>
      <p class="row wrap">
        {chips.filter(([, , k]) => k > 0).map(([word, is, k]) => <a key={word} class="chip" href={`/sources?state=${is}`}><Mark is={is} silent /> {word} {count(k)}</a>)}
      </p>
      {program.length > 0 && <ul class="attention">{program.map((a, i) => <Whole key={i} of={a} />)}</ul>}
      <Show of={rows}>{(r) => (n === 0 ? <p class="empty">Nothing. All sources are well.</p> : <ul class="attention">{r.map((x) => <One key={x.kind + x.id} of={x} reload={() => { reload(); rows.reload(); }} />)}</ul>)}</Show>
    </Section>
  );
}

/** Whole is what the program itself, or a sink, needs somebody for. */
function Whole({ of: a }: { of: Attention }) {
  const sink = /^freshet sink (?:show|letters) (\S+)$/.exec(a.command ?? '')?.[1];
  return (
    <li>
      <Mark is="failing" />
      <b>{words[a.kind]}</b>
      <span>{sink ? <a href={'/sinks/' + encodeURIComponent(sink)}>Look</a> : a.kind === 'disk' ? <a href="/settings">Keep less</a> : null}</span>
      <span class="what">{tidy(a.text)}{a.command && <> <code class="mono dim">{a.command}</code></>}</span>
    </li>
  );
}

function One({ of: r, reload }: { of: Row; reload: () => void }) {
  const [doing, run] = useAction();
  const mend = (m: Remedy) => run(async () => {
    const said = m.says((await send(m.method, m.path, m.body, m.query)) as never);
    setTimeout(reload, 1500); // what was done stays to be read
    return said;
  });
  const [first, ...others] = r.remedies.map((m) => ({ method: m.method, url: address(m.path, m.query), body: m.body, cli: m.cli }));
  return (
    <li>
      <Mark is={r.is} silent />
      <span class="one"><a href={sourcePath(r.id)}><bdi>{tidy(r.name)}</bdi></a> <span class="small dim">{r.kind}</span></span>
      <span class="row">
        {r.remedies.map((m) => <Button key={m.word} kind="link" busy={doing.busy} label={`${m.word}: ${r.id}`} onClick={() => void mend(m)}>{m.word}</Button>)}
        {r.remedies.length === 0 && !r.source && <a href={sourcePath(r.id, '/settings')}>Settings</a>}
      </span>
      <span class="what">{tidy(r.text)} {first && <AsLines {...first} also={others} />}</span>
      {r.source && <span class="what"><Remedies of={r.source} reload={reload} terse /></span>}
      {(doing.done || doing.problem) && <span class="what"><Outcome of={doing} /></span>}
    </li>
  );
}
