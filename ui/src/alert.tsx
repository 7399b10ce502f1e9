// Alerts: what somebody is notified of about one source, and where it is sent.
import { useEffect, useState } from 'preact/hooks';
import { address, get, part, Problem, send } from './api';
import { Builder, Condition } from './condition';
import { plural, tidy, value } from './format';
import { quote } from './lines';
import { useAction, useLoad } from './load';
import { AsLines, Button, Field, Outcome, Section, Show } from './parts';
import type { Settings } from './program';
import type { Query, SinkInfo, Source } from './types';

/** A Draft is an alert as it is typed. */
export interface Draft {
  name: string; kind: string; field: string; number: string; word: string; text: string;
  to: string; // a sink that there is; '+' for a new one; '' where it is sent already
  fresh: string; // a new sink
  lasts: string; repeat: string; first: boolean; // how long it must last, when it is sent again, and whether it is if it is true already
}

/** An Offer is a value that a condition can look at, and how it is extracted if it is not yet. */
export interface Offer { name: string; how?: unknown; now?: unknown }

/** A Suggestion is a way to read a page, with the values that it finds. */
export interface Suggestion {
  what: string; why: string; url?: string; select?: { css?: string; jsonpath?: string }; read?: unknown[]; extract?: Record<string, unknown>; items?: Record<string, unknown>;
  text?: string; count?: number; fields?: Record<string, unknown>;
}

/** offersOf returns the values that were found on a page, those of a shop first. */
export function offersOf(items: Suggestion[]): Offer[] {
  const found: Offer[] = [];
  for (const w of items) {
    for (const [name, how] of Object.entries(w.extract ?? {})) if (!found.some((o) => o.name === name)) found.push({ name, how, now: w.fields?.[name] });
  }
  return found.filter((o) => typeof o.now !== 'string' || o.name === 'price');
}

/** An On says what an alert is about: a source, with an edit of it, or one to be added. */
export interface On { source?: string; edit?: Record<string, unknown>; watch?: Record<string, unknown> }

export const blank: Draft = { name: '', kind: '', field: '', number: '', word: '', text: '', to: '', fresh: '', lasts: '', repeat: '', first: false };

const kinds: [string, string][] = [
  ['changes', 'anything changes'], ['below', 'a number goes below'], ['above', 'a number goes above'], ['percent', 'a number changes by %'], ['appears', 'a word appears'],
  ['disappears', 'a word disappears'], ['stock', 'it is back in stock'], ['items', 'new items appear'], ['fails', 'it stops working'], ['custom', 'custom (CEL)'],
];

const lasting: [string, string][] = [['', 'at once'], ['10m', 'if it lasts 10 minutes'], ['1h', 'if it lasts an hour'], ['1d', 'if it lasts a day']];
const repeats: [string, string][] = [['', 'once'], ['30m', 'every 30 minutes until acknowledged'], ['4h', 'every 4 hours until acknowledged'], ['1d', 'every day until acknowledged']];

const numeric = ['below', 'above', 'percent'], wordy = ['appears', 'disappears'];
const fixed: Record<string, string> = { changes: 'anything changes', stock: 'back in stock', items: 'new items', fails: 'stops working' };

/** asked returns the condition of a draft as the server reads it; undefined while something is missing. */
export function asked(d: Draft): string | undefined {
  const number = d.number.trim().replace(',', '.');
  if (numeric.includes(d.kind)) return d.field && number ? `${d.field} ${{ below: '<', above: '>', percent: 'changes by' }[d.kind]} ${number}${d.kind === 'percent' ? '%' : ''}` : undefined;
  if (wordy.includes(d.kind)) return d.word.trim() ? `${JSON.stringify(d.word.trim())} ${d.kind}` : undefined;
  if (d.kind === 'custom') return d.text.trim() || undefined;
  return fixed[d.kind];
}

/** saying is what a draft notifies of, for the name of an alert. */
export function saying(d: Draft): string {
  if (numeric.includes(d.kind)) return `${d.field} ${{ below: 'goes below', above: 'goes above', percent: 'changes by' }[d.kind]} ${d.number.trim()}${d.kind === 'percent' ? '%' : ''}`;
  if (wordy.includes(d.kind)) return `${JSON.stringify(d.word.trim())} ${d.kind}`;
  return kinds.find(([k]) => k === d.kind && k !== 'custom')?.[1] ?? 'condition';
}

/** draftOf returns the draft of an alert that there is: a form of the list if it is one, else its condition. */
function draftOf(q: Query): Draft {
  const w = (q.window ?? {}) as { for?: string; lasting?: string };
  const words = q.words ?? '', d = { ...blank, name: q.name ?? '', lasts: w.for ?? w.lasting ?? '', repeat: q.repeat ?? '', first: q.trigger === 'first' };
  const [, field, how, n] = /^(\S+) (?:goes (below|above)|changes by) (-?[\d.]+)%?$/.exec(words) ?? [];
  if (field) return { ...d, kind: how ?? 'percent', field, number: n };
  const [, word, way] = /^("(?:[^"\\]|\\.)*") (appears|disappears)$/.exec(words) ?? [];
  if (word) return { ...d, kind: way, word: JSON.parse(word) as string };
  const kind = ({ 'anything changes': 'changes', 'it is back in stock': 'stock', 'new items appear': 'items', 'it stops working': 'fails' } as Record<string, string>)[words];
  return kind ? { ...d, kind } : { ...d, kind: 'custom', text: q.when ?? '' };
}

/** toOf is where a draft is sent. */
export const toOf = (d: Draft) => (d.to === '+' ? d.fresh.trim() : d.to);

const mailish = (to: string) => /^[^\s:/]+@[^\s/]+$/.test(to);

/** bodyOf is a draft as the API takes it. Values that it looks at and that are not extracted yet are added. */
export function bodyOf(d: Draft, on: On, offers: Offer[]): Record<string, unknown> {
  const missing = numeric.includes(d.kind) ? offers.find((o) => o.name === d.field)?.how : undefined;
  const base = on.watch ?? on.edit ?? {};
  const whole = missing ? { ...base, extract: { ...(base.extract as object), [d.field]: missing } } : base;
  const about = on.watch ? { watch: whole } : { source: on.source, ...(Object.keys(whole).length && { edit: whole }) };
  return { ...about, when: asked(d) ?? '', to: toOf(d), ...(d.name.trim() && { name: d.name.trim() }), ...(d.lasts && { for: d.lasts }), ...(d.repeat && { repeat: d.repeat }), ...(alreadyOf(d) && { trigger: 'first' }) };
}

/** already are the conditions that can be true before anything changes. */
const already = ['below', 'above', 'stock', ...wordy];
const alreadyOf = (d: Draft) => d.first && !d.lasts && already.includes(d.kind);

/** alertLine is freshet alert for a draft, which changes the alert of an id if there is one. */
export function alertLine(d: Draft, source: string, id?: string): string {
  const to = toOf(d);
  return `freshet alert ${quote(source)}${id ? ` --id ${quote(id)}` : ''} --when ${quote(asked(d) ?? '')}${to ? ` --notify ${quote(to)}` : ''}${d.lasts && ' --for ' + d.lasts}${d.repeat && ' --repeat ' + d.repeat}${alreadyOf(d) ? ' --trigger first' : ''}`;
}

/** Ask asks what to notify of, and where. */
export function Ask({ draft: d, set, on, offers, none, changes }: { draft: Draft; set: (edit: (d: Draft) => Draft) => void; on: On; offers: Offer[]; none?: string; changes?: boolean }) {
  const sinks = useLoad<{ items: SinkInfo[] }>((s) => get('/sinks', {}, s), []);
  const mailed = d.to === '+' && mailish(d.fresh.trim());
  const settings = useLoad<Settings | undefined>(async (s) => (mailed ? get<Settings>('/settings', {}, s) : undefined), [mailed]);
  const [preview, show] = useState<{ query?: Query; problem?: Problem }>({});
  const [testing, test] = useAction();
  const names = sinks.data?.items.filter((s) => !s.name.endsWith('-alerts')).map((s) => s.name);
  const change = (more: Partial<Draft>) => set((now) => ({ ...now, ...more }));
  useEffect(() => { // a new alert goes to the first sink, unless somebody says otherwise
    if (d.kind && !changes && !d.to && names) set((now) => ({ ...now, to: now.to || (names[0] ?? '+') }));
  }, [d.kind, d.to, names === undefined]);
  const first = numeric.includes(d.kind) && !d.field ? offers[0]?.name : undefined; // what is offered may come after the choice
  useEffect(() => {
    if (first) set((now) => ({ ...now, field: now.field || first }));
  }, [first]);
  const when = asked(d), to = toOf(d);
  const key = JSON.stringify([when, on.source, on.watch?.url, d.kind, d.lasts, d.first]);
  useEffect(() => {
    show({});
    if (!d.kind || when === undefined) return;
    const timer = setTimeout(async () => {
      try {
        show({ query: (await send<{ query: Query }>('POST', '/alerts/preview', { ...bodyOf(d, on, offers), to: undefined })).query });
      } catch (err) {
        if (err instanceof Problem) show({ problem: err });
      }
    }, 250);
    return () => clearTimeout(timer);
  }, [key]);
  const send1 = () => test(async () => {
    const t = await send<{ accepted: boolean; error?: string; hint?: string }>('POST', '/alerts/test', { to });
    if (!t.accepted) throw new Problem(t.error ?? 'It was not accepted.', 0, t.hint ?? '');
    return 'The test message was accepted.';
  });
  const wrong = preview.problem, needsServer = mailed && settings.data?.items.some((s) => s.key === 'mail.server' && !s.value);
  return (
    <fieldset class="ask">
      <legend class="label">Notify me when</legend>
      <div class="row wrap">
        <select class="input" aria-label="Notify me when" value={d.kind} onChange={(e) => change({ kind: e.currentTarget.value })}>
          {none && <option value="">{none}</option>}
          {kinds.map(([kind, words]) => <option key={kind} value={kind}>{words}</option>)}
        </select>
        {numeric.includes(d.kind) && (
          <>
            <select class="input" aria-label="Which number" value={d.field} onChange={(e) => change({ field: e.currentTarget.value })}>
              {offers.length === 0 && !d.field && <option value="">no number is known</option>}
              {d.field && !offers.some((o) => o.name === d.field) && <option value={d.field}>{d.field}</option>}
              {offers.map((o) => <option key={o.name} value={o.name}>{o.name}{o.now !== undefined && o.now !== null ? ` (${tidy(value(o.now)).slice(0, 30)} now)` : ''}</option>)}
            </select>
            <input class="input short" aria-label={d.kind === 'percent' ? 'Percent' : 'Number'} inputMode="decimal" placeholder={d.kind === 'percent' ? '5' : '100'} value={d.number} onInput={(e) => change({ number: e.currentTarget.value })} />
          </>
        )}
        {wordy.includes(d.kind) && <input class="input" aria-label="Word" placeholder="sold out" value={d.word} onInput={(e) => change({ word: e.currentTarget.value })} />}
      </div>
      {d.kind === 'custom' && (
        <>
          <Builder value={d.text} set={(text) => change({ text })} fields={offers.map((o) => o.name)} numeric={(f) => typeof offers.find((o) => o.name === f)?.now !== 'string'} />
          <Condition value={d.text} set={(text) => change({ text })} problem={wrong} busy={!preview.query} fields={offers.map((o) => o.name)} empty="Build a condition, or type one" />
        </>
      )}
      {numeric.includes(d.kind) && offers.length === 0 && !d.field && <p class="small dim">No number was found on the page. Choose an element first, or name a value in the settings of the source.</p>}
      {d.kind !== 'custom' && wrong && <p class="wrong" role="alert">{tidy((wrong.at('body.when') ?? wrong.title).replace(/^line 1, column \d+: /, ''))}{wrong.hint && <span class="dim"> {tidy(wrong.hint)}</span>}</p>}
      {preview.query?.when && <p class="small dim">{d.kind !== 'custom' && <span class="mono">{tidy(preview.query.when)}</span>}{preview.query.trigger === 'becomes' || preview.query.trigger === 'first' ? `${d.kind === 'custom' ? 'Sent' : ','} when it becomes true` : d.kind === 'custom' ? 'Sent at each change for which it is true' : ''}</p>}
      {d.kind && (
        <>
          <div class="row wrap">
            <select class="input" aria-label="Send it to" value={d.to} onChange={(e) => change({ to: e.currentTarget.value })}>
              {changes && <option value="">to where it is sent now</option>}
              {names?.map((name) => <option key={name} value={name}>{changes ? 'and ' : ''}to {name}</option>)}
              <option value="+">to a new sink</option>
            </select>
            {d.to === '+' && <input class="input grow" aria-label="New sink" spellcheck={false} autocapitalize="off" placeholder="an e-mail address, ntfy://ntfy.sh/my-topic or https://hooks.slack.com/…" value={d.fresh} onInput={(e) => change({ fresh: e.currentTarget.value })} />}
            <Button kind="ghost" busy={testing.busy} disabled={!to} onClick={send1}>Send a test message</Button>
          </div>
          <div class="row wrap">
            <Choice label="How long it must last" of={lasting} value={d.lasts} set={(lasts) => change({ lasts })} />
            <Choice label="How often it is sent" of={repeats} value={d.repeat} set={(repeat) => change({ repeat })} />
            {already.includes(d.kind) && !d.lasts && <label class="row"><input type="checkbox" checked={d.first} onChange={(e) => change({ first: e.currentTarget.checked })} /> also if it is already true</label>}
          </div>
          {needsServer && <p class="small warn" role="status">E-mail needs a mail server, once for all addresses. <a href="/settings/notifications" target="_blank">Set it in a new tab</a>, then come back.</p>}
          <Outcome of={testing} />
        </>
      )}
    </fieldset>
  );
}

/** Choice is a list to choose from, with what was chosen elsewhere. */
function Choice({ label, of, value, set }: { label: string; of: [string, string][]; value: string; set: (value: string) => void }) {
  return (
    <select class="input" aria-label={label} value={value} onChange={(e) => set(e.currentTarget.value)}>
      {!of.some(([v]) => v === value) && <option value={value}>{value}</option>}
      {of.map(([v, words]) => <option key={v} value={v}>{words}</option>)}
    </select>
  );
}

/** Acknowledge ends the repetition of what a query has sent so far. */
export function Acknowledge({ of: q, done }: { of: Query; done: () => void }) {
  const [doing, run] = useAction();
  if (!q.unacknowledged) return null;
  return (
    <>
      <Button needs="write" kind="ghost" busy={doing.busy} label={`Acknowledge ${q.unacknowledged} of ${q.name ?? q.id}`} onClick={() => run(async () => { await send('POST', `/queries/${part(q.id)}/acknowledge`, {}); done(); })}>Acknowledge {q.unacknowledged}</Button>
      <Outcome of={doing} />
    </>
  );
}

/** Alerts lists the alerts of a source, and adds and changes them. */
export function Alerts({ of: s }: { of: Source }) {
  const list = useLoad<{ items: Query[] }>((signal) => get('/queries', {}, signal), [s.id], 30_000);
  const [editing, edit] = useState<string>(); // the id of a query, or "" for a new alert
  const mine = (l: { items: Query[] }) => l.items.filter((q) => q.scope?.sources?.includes(s.id));
  const done = () => {
    edit(undefined);
    list.reload();
  };
  return (
    <Section title="Alerts" side={editing === undefined && <Button kind="ghost" icon="plus" onClick={() => edit('')}>Notify me</Button>}>
      <Show of={list}>{(l) => (
        <>
          {mine(l).length === 0 && editing === undefined && <p class="empty">No alerts for this source.</p>}
          {mine(l).map((q) => (editing === q.id ? <Edit key={q.id} source={s} of={q} done={done} /> : (
            <p key={q.id} class="row wrap">
              <a class="grow one" href={'/queries/' + encodeURIComponent(q.id)} title={tidy(q.name ?? '')}><bdi>{tidy(q.words || q.when || 'anything changes')}</bdi></a>
              <span class="small dim">{q.paused ? 'off' : plural(q.matches, 'match', 'matches')}</span>
              <Acknowledge of={q} done={list.reload} />
              {q.origin !== 'file' && <Button local needs="write" kind="ghost" label={`Change the alert ${q.name ?? q.id}`} onClick={() => edit(q.id)}>Change</Button>}
            </p>
          )))}
          {editing === '' && <Edit source={s} done={done} />}
        </>
      )}</Show>
    </Section>
  );
}

/** triggerOf keeps the trigger of a condition that was typed, and sets that of the others. */
function triggerOf(d: Draft, q: Query): { trigger?: string } {
  if (d.kind === 'custom') return q.trigger && !d.lasts ? { trigger: q.trigger } : {};
  return already.includes(d.kind) && !d.lasts ? { trigger: d.first ? 'first' : 'becomes' } : {};
}

function Edit({ source: s, of: q, done }: { source: Source; of?: Query; done: () => void }) {
  const source = s.id;
  const found = useLoad<{ items: Suggestion[] }>((signal) => get(`/sources/${part(source)}/suggestions`, {}, signal).catch(() => ({ items: [] })) as Promise<{ items: Suggestion[] }>, [source]);
  const kept = Object.keys(s.extract ?? {}), seen = offersOf(found.data?.items ?? []);
  const offers = [...kept.map((name) => ({ name, now: seen.find((o) => o.name === name)?.now })), ...seen.filter((o) => !kept.includes(o.name) && o.now !== null)];
  const [draft, set] = useState<Draft>(q ? draftOf(q) : blank);
  const [saving, save] = useAction();
  const ready = asked(draft) !== undefined && (q || toOf(draft));
  const on = { source };
  const body = { ...bodyOf(draft, on, offers), ...(q && { id: q.id, for: draft.lasts || '0', repeat: draft.repeat || '0', ...triggerOf(draft, q) }) };
  return (
    <div class="stack panel">
      <Field label="Name" help="empty means source and condition"><input class="input" value={draft.name} onInput={(e) => set({ ...draft, name: e.currentTarget.value })} /></Field>
      <Ask draft={draft} set={set} on={on} offers={offers} none={q ? undefined : 'choose'} changes={!!q} />
      <div class="row wrap">
        <Button kind="main" busy={saving.busy} disabled={!ready} onClick={() => save(async () => { await send('POST', '/alerts', body); done(); })}>Save</Button>
        {q && <Button kind="ghost" danger busy={saving.busy} onClick={() => save(async () => { await send('DELETE', '/queries/' + part(q.id)); done(); })}>Remove</Button>}
        <Button local kind="ghost" onClick={done}>Cancel</Button>
        {ready && <AsLines method="POST" url={address('/alerts')} body={body} cli={alertLine(draft, source, q?.id)}
          also={q ? [{ method: 'DELETE', url: address('/queries/' + part(q.id)), cli: `freshet query remove ${quote(q.id)}` }] : []} />}
      </div>
      <Outcome of={saving} />
    </div>
  );
}
