// Alerts: what somebody is notified of about one source, and where it is sent.
import { useEffect, useState } from 'preact/hooks';
import { address, get, part, Problem, send } from './api';
import { plural, tidy, value } from './format';
import { quote } from './lines';
import { useAction, useLoad } from './load';
import { AsLines, Button, Outcome, Section, Show } from './parts';
import type { Query, SinkInfo, Source } from './types';

/** A Draft is an alert as it is typed. */
export interface Draft { kind: string; field: string; number: string; word: string; text: string; to: string; fresh: string }

/** An Offer is a value that a condition can look at, and how it is extracted if it is not yet. */
export interface Offer { name: string; how?: unknown; now?: unknown }

export const blank: Draft = { kind: '', field: '', number: '', word: '', text: '', to: '', fresh: '' };

const kinds: [string, string][] = [
  ['changes', 'anything changes'], ['below', 'a number goes below'], ['above', 'a number goes above'], ['percent', 'a number changes by %'], ['appears', 'a word appears'],
  ['disappears', 'a word disappears'], ['stock', 'it is back in stock'], ['items', 'new items appear'], ['fails', 'it stops working'], ['custom', 'custom (CEL)'],
];

const numeric = ['below', 'above', 'percent'], wordy = ['appears', 'disappears'];

/** asked returns the condition of a draft as the server reads it; undefined while something is missing. */
export function asked(d: Draft): string | undefined {
  const number = d.number.trim().replace(',', '.');
  if (numeric.includes(d.kind)) return d.field && number ? `${d.field} ${{ below: '<', above: '>', percent: 'changes by' }[d.kind]} ${number}${d.kind === 'percent' ? '%' : ''}` : undefined;
  if (wordy.includes(d.kind)) return d.word.trim() ? `${JSON.stringify(d.word.trim())} ${d.kind}` : undefined;
  if (d.kind === 'custom') return d.text.trim() || undefined;
  return { changes: 'anything changes', stock: 'back in stock', items: 'new items', fails: 'stops working' }[d.kind];
}

/** bodyOf is a draft as the API takes it. Values that it looks at and that are not extracted yet are added. */
export function bodyOf(d: Draft, source: string, offers: Offer[], edit: Record<string, unknown> = {}): Record<string, unknown> {
  const missing = numeric.includes(d.kind) ? offers.find((o) => o.name === d.field)?.how : undefined;
  const whole = missing ? { ...edit, extract: { ...(edit.extract as object), [d.field]: missing } } : edit;
  return { source, when: asked(d) ?? '', to: d.to || d.fresh.trim(), ...(Object.keys(whole).length && { edit: whole }) };
}

/** alertLine is freshet alert for a draft, which changes the alert of an id if there is one. */
export function alertLine(d: Draft, source: string, id?: string): string {
  const to = d.to || d.fresh.trim();
  return `freshet alert ${quote(source)}${id ? ` --id ${quote(id)}` : ''} --when ${quote(asked(d) ?? '')}${to ? ` --notify ${quote(to)}` : ''}`;
}

/** Ask asks what to notify of, and where. */
export function Ask({ draft: d, set, source, offers, none }: { draft: Draft; set: (d: Draft) => void; source: string; offers: Offer[]; none?: string }) {
  const sinks = useLoad<{ items: SinkInfo[] }>((s) => get('/sinks', {}, s), []);
  const [preview, show] = useState<{ when?: string; trigger?: string; wrong?: string; hint?: string }>({});
  const [testing, test] = useAction();
  const names = sinks.data?.items.filter((s) => !s.name.endsWith('-alerts')).map((s) => s.name);
  const change = (more: Partial<Draft>) => set({ ...d, ...more });
  const choose = (kind: string) => change({ kind, field: d.field || offers[0]?.name || '', to: d.to || d.fresh ? d.to : names?.[0] ?? '' });
  const when = asked(d), to = d.to || d.fresh.trim();
  useEffect(() => {
    show({});
    if (!d.kind || when === undefined) return;
    const timer = setTimeout(async () => {
      try {
        const p = await send<{ query: Query }>('POST', '/alerts/preview', { ...bodyOf(d, source, offers), to: undefined });
        show({ when: p.query.when ?? '', trigger: p.query.trigger });
      } catch (err) {
        if (err instanceof Problem) show({ wrong: err.at('body.when') ?? err.title, hint: err.hint });
      }
    }, 250);
    return () => clearTimeout(timer);
  }, [when, source, d.kind]);
  const send1 = () => test(async () => {
    const t = await send<{ accepted: boolean; error?: string; hint?: string }>('POST', '/alerts/test', { to });
    if (!t.accepted) throw new Problem(t.error ?? 'It was not accepted.', 0, t.hint ?? '');
    return 'The test message was accepted.';
  });
  return (
    <fieldset class="ask">
      <legend class="label">Notify me when</legend>
      <div class="row wrap">
        <select class="input" aria-label="Notify me when" value={d.kind} onChange={(e) => choose(e.currentTarget.value)}>
          {none && <option value="">{none}</option>}
          {kinds.map(([kind, words]) => <option key={kind} value={kind}>{words}</option>)}
        </select>
        {numeric.includes(d.kind) && (
          <>
            <select class="input" aria-label="Which number" value={d.field} onChange={(e) => change({ field: e.currentTarget.value })}>
              {offers.length === 0 && <option value="">no number is known</option>}
              {offers.map((o) => <option key={o.name} value={o.name}>{o.name}{o.now !== undefined && o.now !== null ? ` (${tidy(value(o.now)).slice(0, 30)} now)` : ''}</option>)}
            </select>
            <input class="input short" aria-label={d.kind === 'percent' ? 'Percent' : 'Number'} inputMode="decimal" placeholder={d.kind === 'percent' ? '5' : '100'} value={d.number} onInput={(e) => change({ number: e.currentTarget.value })} />
          </>
        )}
        {wordy.includes(d.kind) && <input class="input" aria-label="Word" placeholder="sold out" value={d.word} onInput={(e) => change({ word: e.currentTarget.value })} />}
        {d.kind === 'custom' && <input class="input grow mono" aria-label="Condition" spellcheck={false} placeholder='now.price < 100 && text.contains("red")' value={d.text} onInput={(e) => change({ text: e.currentTarget.value })} />}
      </div>
      {numeric.includes(d.kind) && offers.length === 0 && <p class="small dim">No number was found on the page. Name one with extract, or choose an element.</p>}
      {preview.wrong ? <p class="wrong" role="alert">{tidy(preview.wrong)}{preview.hint && <span class="dim"> {tidy(preview.hint)}</span>}</p>
        : preview.when ? <p class="small dim"><span class="mono">{tidy(preview.when)}</span>{preview.trigger === 'becomes' ? ', when it becomes true' : ''}</p> : null}
      {d.kind && (
        <>
          <div class="row wrap">
            <select class="input" aria-label="Send it to" value={d.to} onChange={(e) => change({ to: e.currentTarget.value })}>
              {names?.map((name) => <option key={name} value={name}>to {name}</option>)}
              <option value="">to a new receiver</option>
            </select>
            {!d.to && <input class="input grow" aria-label="New receiver" spellcheck={false} autocapitalize="off" placeholder="me@example.com, ntfy://ntfy.sh/my-topic or https://hooks.slack.com/…" value={d.fresh} onInput={(e) => change({ fresh: e.currentTarget.value })} />}
            <Button kind="ghost" busy={testing.busy} disabled={!to} onClick={send1}>Send a test message</Button>
          </div>
          <Outcome of={testing} />
        </>
      )}
    </fieldset>
  );
}

/** Alerts lists the alerts of a source, and adds and changes them. */
export function Alerts({ of: s, fields }: { of: Source; fields?: Record<string, unknown> }) {
  const list = useLoad<{ items: Query[] }>((signal) => get('/queries', {}, signal), [s.id], 30_000);
  const [editing, edit] = useState<string>(); // the id of a query, or "" for a new alert
  const mine = (l: { items: Query[] }) => l.items.filter((q) => q.scope?.sources?.includes(s.id));
  const offers = Object.keys(s.extract ?? {}).map((name) => ({ name, now: fields?.[name] }));
  const done = () => {
    edit(undefined);
    list.reload();
  };
  return (
    <Section title="Alerts" side={editing === undefined && <Button local kind="ghost" icon="plus" onClick={() => edit('')}>Notify me</Button>}>
      <Show of={list}>{(l) => (
        <>
          {mine(l).length === 0 && editing === undefined && <p class="empty">Nobody is notified of this source alone.</p>}
          {mine(l).map((q) => (editing === q.id ? <Edit key={q.id} source={s.id} offers={offers} of={q} done={done} /> : (
            <p key={q.id} class="row wrap">
              <a class="grow one" href={'/queries/' + encodeURIComponent(q.id)}><bdi>{tidy(q.words || q.when || 'anything changes')}</bdi></a>
              <span class="small dim">{q.paused ? 'off' : plural(q.matches, 'match', 'matches')}</span>
              {q.origin !== 'file' && <Button local kind="ghost" label={`Change the alert ${q.name ?? q.id}`} onClick={() => edit(q.id)}>Change</Button>}
            </p>
          )))}
          {editing === '' && <Edit source={s.id} offers={offers} done={done} />}
        </>
      )}</Show>
    </Section>
  );
}

function Edit({ source, offers, of: q, done }: { source: string; offers: Offer[]; of?: Query; done: () => void }) {
  const [draft, set] = useState<Draft>(q ? { ...blank, kind: 'custom', text: q.words || q.when || 'anything changes' } : blank);
  const [saving, save] = useAction();
  const ready = asked(draft) !== undefined && (q || draft.to || draft.fresh.trim());
  return (
    <div class="stack">
      <Ask draft={draft} set={set} source={source} offers={offers} none={q ? undefined : 'choose'} />
      <div class="row">
        <Button kind="main" busy={saving.busy} disabled={!ready} onClick={() => save(async () => { await send('POST', '/alerts', { ...bodyOf(draft, source, offers), ...(q && { id: q.id }) }); done(); })}>Save</Button>
        {q && <Button kind="ghost" danger busy={saving.busy} onClick={() => save(async () => { await send('DELETE', '/queries/' + part(q.id)); done(); })}>Remove</Button>}
        <Button local kind="ghost" onClick={done}>Cancel</Button>
        {ready && <AsLines method="POST" url={address('/alerts')} body={{ ...bodyOf(draft, source, offers), ...(q && { id: q.id }) }} cli={alertLine(draft, source, q?.id)}
          also={q ? [{ method: 'DELETE', url: address('/queries/' + part(q.id)), cli: `freshet query remove ${quote(q.id)}` }] : []} />}
      </div>
      <Outcome of={saving} />
    </div>
  );
}
