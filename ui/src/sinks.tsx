// Sinks: who receives changes, how deliveries end, and sending again.
import { useEffect, useState } from 'preact/hooks';
import { address, ask, get, part, Problem, send } from './api';
import { count, dayOf, moment, plural, span, tidy } from './format';
import { back } from './live';
import { quote, sinkLine } from './lines';
import { useAction, useLoad } from './load';
import { may } from './me';
import { AsLines, Button, calledIn, Field, Icon, Mark, Outcome, Section, Show, sourcePath, Time, useTitle, WhatChanged, type Mood } from './parts';
import { go, leave } from './router';
import type { Change, Cursor, Query, SinkInfo } from './types';

interface Kind { name: string; about: string; url?: string; template?: string; settings: { name: string; about: string; needed?: boolean; secret?: boolean }[] }
interface Letter { id: string; change?: Change; query?: string; first?: number; last?: number; at?: string; attempts: number; error: string; body?: string; next?: string }
interface Attempt { id: string; at: string; attempt: number; took_ms: number; accepted: boolean; error?: string; hint?: string; given_up?: boolean }

/** kindNames are what people call the kinds; those of people come first. */
const kindNames: Record<string, string> = {
  email: 'E-mail', slack: 'Slack', telegram: 'Telegram', discord: 'Discord', teams: 'Microsoft Teams', ntfy: 'ntfy', gotify: 'Gotify', matrix: 'Matrix', mattermost: 'Mattermost', googlechat: 'Google Chat', pagerduty: 'PagerDuty', apprise: 'Apprise', homeassistant: 'Home Assistant',
  json: 'JSON webhook', webhook: 'Webhook, signed', cloudevents: 'CloudEvents', mqtt: 'MQTT', nats: 'NATS', kafka: 'Kafka', postgres: 'PostgreSQL', file: 'File', command: 'Command',
};
const kindOrder = Object.keys(kindNames);

export const kindName = (kind: string) => kindNames[kind] ?? kind;

const sinkPath = (name: string) => '/sinks/' + encodeURIComponent(name);
const deliveries = (n: number) => plural(n, 'delivery', 'deliveries');

const moodOf = (s: SinkInfo): Mood => ({ ok: 'well', paused: 'paused', held: 'level' } as Record<string, Mood>)[s.standing.state] ?? 'failing';
const states: Record<string, string> = { ok: 'works', paused: 'paused', held: 'paused after a refusal', failing: 'failing', gone: 'gone (410)', broken: 'cannot be used' };

/** target is where a sink sends to, without what follows the host. */
function target(s: SinkInfo): string {
  try {
    return new URL(s.url ?? '').host || s.url || '';
  } catch {
    return s.url || s.settings?.to || '';
  }
}

const useQueries = () => useLoad<{ items: Query[] }>((s) => get('/queries', {}, s), []);

/** wants says in words what a sink receives. */
function wants(s: SinkInfo, queries: Query[] = []): string {
  if (s.queries?.length) return 'matches of ' + s.queries.map((id) => queries.find((q) => q.id === id)?.name || id).join(', ');
  const parts = [...(s.tags?.length ? ['tagged ' + s.tags.join(', ')] : []), ...(s.sources?.length ? ['of ' + s.sources.join(', ')] : [])];
  return parts.length ? 'changes ' + parts.join(' and ') : 'all changes';
}

export function Sinks({ name }: { name: string }) {
  const list = useLoad<{ items: SinkInfo[] }>((s) => get('/sinks', {}, s), [], 10_000);
  return (
    <div class={'side ' + (name ? 'one-open' : '')}>
      {name && <a class="phone" href="/sinks">All sinks</a>}
      <div class="pick">
        <Section title="Sinks" note={list.data ? count(list.data.items.length) : ''} side={may('write') && <a class="button ghost" href="/sinks/new"><Icon name="plus" /> Add</a>}>
          <Show of={list}>{(l) => (
            <>
              {l.items.length === 0 && <p class="empty">None yet. A sink gets changes or alerts: a mailbox, a chat, a webhook, a queue.</p>}
              {l.items.map((s) => (
                <a key={s.name} href={sinkPath(s.name)} aria-current={s.name === name ? 'true' : undefined}>
                  <b class="row"><Mark is={moodOf(s)} /> <bdi class="one">{tidy(s.name)}</bdi></b>
                  <span class="small dim">{kindName(s.kind ?? '')}, {states[s.standing.state] ?? s.standing.state}{s.standing.open ? `, ${count(s.standing.open)} pending` : ''}{s.standing.dead ? `, ${count(s.standing.dead)} failed for good` : ''}</span>
                </a>
              ))}
            </>
          )}</Show>
        </Section>
      </div>
      <div>{name === '' ? <Intro /> : name === 'new' && may('write') ? <Editor key="new" reload={list.reload} /> : <One key={name} name={name} reload={list.reload} />}</div>
    </div>
  );
}

/** sentence begins with a capital letter. */
const sentence = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** labelOf writes the name of a setting as a label. */
const labelOf = (name: string) => sentence(name.replaceAll('_', ' '));

function useKinds() {
  return useLoad(async (s) => {
    const { items } = await get<{ items: Kind[] }>('/sinks-kinds', {}, s);
    return { items: items.sort((a, b) => kindOrder.indexOf(a.name) - kindOrder.indexOf(b.name)) };
  }, []);
}

function Intro() {
  const kinds = useKinds();
  return (
    <>
      <h1 class="hidden-text">Sinks</h1>
      <Section title="Kinds of sink">
        <p class="say">A sink receives changes or alerts. A delivery that fails is tried again, so that nothing is lost.</p>
        <Show of={kinds}>{(k) => (
          <table><tbody>{k.items.map((x) => <tr key={x.name}><th scope="row" class="kind">{kindName(x.name)}</th><td>{x.about}</td><td class="num">{may('write') && <a href={'/sinks/new?kind=' + encodeURIComponent(x.name)}>Add</a>}</td></tr>)}</tbody></table>
        )}</Show>
      </Section>
    </>
  );
}

function One({ name, reload }: { name: string; reload: () => void }) {
  const sink = useLoad<{ data: SinkInfo; etag: string }>((s) => ask<SinkInfo>('GET', address('/sinks/' + part(name)), undefined, { signal: s }), [name], 5000);
  const queries = useQueries();
  const [editing, edit] = useState(false);
  const both = () => {
    reload();
    sink.reload();
  };
  return (
    <Show of={sink}>{({ data: s, etag }) => (
      editing ? <Editor of={s} etag={etag} reload={both} close={() => edit(false)} /> : (
        <>
          <div class="row wrap">
            <Title of={s.name} />
            <span class="dim grow">{kindName(s.kind ?? '')} · {tidy(target(s))} · {tidy(wants(s, queries.data?.items))}</span>
            {s.origin !== 'file' && <Button onClick={() => edit(true)}>Edit</Button>}
          </div>
          <Actions of={s} etag={etag} reload={both} />
          <Attempts name={s.name} open={s.standing.open} />
          <OwedSection of={s} />
          <Letters of={s} reload={both} />
          {may('write') && <Again sinks={[s]} reload={both} />}
        </>
      )
    )}</Show>
  );
}

function Title({ of }: { of: string }) {
  useTitle(of);
  return <h1 class="title one"><bdi>{tidy(of)}</bdi></h1>;
}

/** test sends a sample, and says what the receiver answered. */
async function test(name: string): Promise<string> {
  const t = await send<{ accepted: boolean; answer?: string; error?: string; hint?: string }>('POST', `/sinks/${part(name)}/test`);
  if (!t.accepted) throw new Problem(t.error ?? 'It was not accepted.', 0, t.hint ?? '');
  return 'Accepted' + (t.answer ? ': ' + t.answer.split('\n')[0] : '.');
}

function Actions({ of: s, etag, reload }: { of: SinkInfo; etag: string; reload: () => void }) {
  const [doing, run] = useAction();
  const [shown, show] = useState('');
  const st = s.standing, listed = s.origin === 'file', path = `/sinks/${part(s.name)}`;
  const hold = (paused: boolean) => run(async () => {
    await send('PATCH', path, { paused: paused || null }, {}, etag);
    reload();
    return paused ? 'Nothing is sent until you resume.' : 'Pending deliveries are sent now.';
  });
  const remove = () => confirm(`Remove ${s.name}? ${st.open ? `The ${deliveries(st.open)} that are pending are lost.` : 'It then receives nothing.'}`) && run(async () => {
    await send('DELETE', path);
    reload();
    go('/sinks');
  });
  return (
    <Section title="State">
      <p class="say"><Mark is={moodOf(s)} silent /> {sentence(states[st.state] ?? st.state)}{st.open ? `; ${deliveries(st.open)} pending` : ''}{st.dead ? `; ${count(st.dead)} failed for good` : ''}.{' '}
        {st.error && <span class="wrong">{sentence(tidy(st.error))}{st.failing_since && ` (since ${dayOf(st.failing_since)}, ${moment(st.failing_since)})`}</span>}{st.hint && <span class="dim"> {tidy(st.hint)}</span>}</p>
      <div class="row wrap">
        <Button kind="main" busy={doing.busy} onClick={() => run(async () => { const said = await test(s.name); reload(); return said; })}>Send a test message</Button>
        <Button kind="ghost" busy={doing.busy} onClick={() => run(async () => {
          const t = await send<{ body: string }>('POST', path + '/test', undefined, { preview: true });
          show(t.body);
        })}>Preview</Button>
        {!listed && (st.state === 'paused' ? <Button icon="play" onClick={() => hold(false)}>Resume</Button> : <Button icon="pause" onClick={() => hold(true)}>Pause</Button>)}
        <AsLines method="POST" url={address(path + '/test')} cli={`freshet sink test ${quote(s.name)}`}
          also={listed ? [] : [{ method: 'PATCH', url: address(path), body: { paused: st.state === 'paused' ? null : true }, cli: `freshet sink edit ${quote(s.name)} --paused${st.state === 'paused' ? '=false' : ''}` }, { method: 'DELETE', url: address(path), cli: `freshet sink remove ${quote(s.name)}` }]} />
        {!listed && <Button kind="ghost" danger icon="trash" onClick={remove}>Remove</Button>}
      </div>
      {listed && <p class="small dim">The configuration file lists this sink; edit it there.</p>}
      {shown && <div class="as"><pre>{tidy(shown)}</pre><Button local kind="link" onClick={() => show('')}>Close</Button></div>}
      <Outcome of={doing} />
    </Section>
  );
}

function Attempts({ name, open }: { name: string; open: number }) {
  const list = useLoad<{ items: Attempt[] }>((s) => get(`/sinks/${part(name)}/attempts`, {}, s), [name, open], 5000);
  const [all, show] = useState(false);
  return (
    <Section title="Attempts" note="the last 50, since the daemon started">
      <Show of={list}>{(l) => (l.items.length === 0 ? <p class="empty">None yet.</p> : (
        <>
          <table>
            <thead><tr><th scope="col">Ended</th><th scope="col">Answer</th><th scope="col" class="num">Try</th><th scope="col" class="num">Took</th></tr></thead>
            <tbody>{l.items.slice(0, all ? 50 : 8).map((a) => (
              <tr key={a.id + a.attempt + a.at} title={tidy(a.id)}>
                <td><Mark is={a.accepted ? 'well' : 'failing'} silent /> <Time at={a.at} /></td>
                <td>{a.accepted ? 'accepted' : <span class="wrong">{tidy(a.error ?? '')}{a.given_up && '; failed for good'}</span>}</td>
                <td class="num">{a.attempt}</td>
                <td class="num">{span(a.took_ms)}</td>
              </tr>
            ))}</tbody>
          </table>
          {l.items.length > 8 && !all && <Button local kind="link" onClick={() => show(true)}>All {l.items.length}</Button>}
        </>
      ))}</Show>
    </Section>
  );
}

function About({ of: l }: { of: Letter }) {
  if (l.change) return <a href={sourcePath(l.change.source, `?to=${l.change.number}`)}><bdi>{tidy(calledIn(l.change))}</bdi></a>;
  return <a href={'/queries/' + encodeURIComponent(l.query ?? '')}><bdi>{tidy(l.query ?? '')}</bdi></a>;
}

function What({ of: l }: { of: Letter }) {
  if (l.change) return <WhatChanged of={l.change} />;
  return <span class="dim">{l.first ? (l.last !== l.first ? `matches ${l.first} to ${l.last}` : `match ${l.first}`) : ''}</span>;
}

function OwedSection({ of: s }: { of: SinkInfo }) {
  const n = s.standing.open;
  const list = useLoad<{ items: Letter[] }>((signal) => (n ? get(`/sinks/${part(s.name)}/owed`, { limit: 50 }, signal) : Promise.resolve({ items: [] })), [s.name, n], 10_000);
  if (!n) return null;
  return (
    <Section title="Pending" note={count(n)}>
      <Show of={list}>{(l) => (
        <>
          <table>
            <thead><tr><th scope="col">Source or query</th><th scope="col" class="desk">Change</th><th scope="col">Last answer</th><th scope="col" class="num desk">Tries</th><th scope="col" class="num">Next</th></tr></thead>
            <tbody>{l.items.map((x) => (
              <tr key={x.id}><td class="one"><About of={x} /></td><td class="one desk"><What of={x} /></td><td class="answer">{x.error ? <span class="wrong">{tidy(x.error)}</span> : <span class="dim">–</span>}</td><td class="num desk">{x.attempts}</td><td class="num">{s.standing.state === 'paused' ? 'paused' : <Time at={x.next} as="ago" />}</td></tr>
            ))}</tbody>
          </table>
          {n > l.items.length && <p class="small dim">and {count(n - l.items.length)} more</p>}
        </>
      )}</Show>
    </Section>
  );
}

function Letters({ of: s, reload }: { of: SinkInfo; reload: () => void }) {
  const n = s.standing.dead;
  const list = useLoad<{ items: Letter[]; next: string }>((signal) => (n ? get(`/sinks/${part(s.name)}/letters`, { limit: 100 }, signal) : Promise.resolve({ items: [], next: '' })), [s.name, n]);
  const [doing, run] = useAction();
  if (!n && !doing.done) return null;
  const again = (letters?: string[]) => run(async () => {
    const r = await send<{ deliveries: number }>('POST', `/sinks/${part(s.name)}/replay`, letters ? { letters } : {});
    reload();
    return `${deliveries(r.deliveries)} ${r.deliveries === 1 ? 'is' : 'are'} made again, under the same ${r.deliveries === 1 ? 'id' : 'ids'}.`;
  });
  return (
    <Section title="Failed deliveries" note={count(n)} side={n > 0 && <span class="row"><Button icon="again" busy={doing.busy} onClick={() => again()}>Send all {count(n)} again</Button><AsLines method="POST" url={address(`/sinks/${part(s.name)}/replay`)} body={{}} cli={`freshet sink replay ${quote(s.name)}`} /></span>}>
      <Outcome of={doing} />
      <Show of={list}>{(l) => l.items.length > 0 && (
        <table>
          <thead><tr><th scope="col">Source or query</th><th scope="col" class="desk">Change</th><th scope="col">Last answer</th><th scope="col" class="num desk">Tries</th><th scope="col"><span class="hidden-text">Again</span></th></tr></thead>
          <tbody>{l.items.map((x) => (
            <tr key={x.id}><td class="one"><About of={x} /></td><td class="one fill desk"><What of={x} /></td><td class="wrong">{tidy(x.error)}</td><td class="num desk">{x.attempts}</td><td class="num"><Button kind="link" label={`Send again ${x.id}`} onClick={() => again([x.id])}>Send again</Button></td></tr>
          ))}</tbody>
        </table>
      )}</Show>
    </Section>
  );
}

/** Again sends from a place in the log or from a time, and counts what that is before. */
function Again({ sinks, reload }: { sinks: SinkInfo[]; reload: () => void }) {
  const [name, choose] = useState(sinks[0]?.name ?? '');
  const [from, type] = useState('');
  const [counted, set] = useState<{ deliveries: number; more?: boolean }>();
  const [wrong, say] = useState<Problem>();
  const [doing, run] = useAction();
  const body = fromOf(from);
  const key = JSON.stringify([name, body]);
  useEffect(() => {
    set(undefined);
    say(undefined);
    if (!body) return;
    let over = false;
    const timer = setTimeout(async () => {
      try {
        const c = await send<{ deliveries: number; more?: boolean }>('POST', `/sinks/${part(name)}/replay`, { ...body, dry_run: true });
        if (!over) set(c);
      } catch (err) {
        if (!over) say(err as Problem);
      }
    }, 300);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [key, back.value]);
  const again = () => run(async () => {
    await send('POST', `/sinks/${part(name)}/replay`, body);
    reload();
    return 'They are sent again, in order.';
  });
  const many = counted ? (counted.more ? 'more than ' : '') + count(counted.deliveries) : '';
  return (
    <Section title="Send again">
      <div class="panel row wrap again">
        {sinks.length > 1 && <Field label="Send again to"><select class="input" value={name} onChange={(e) => choose(e.currentTarget.value)}>{sinks.map((s) => <option key={s.name}>{s.name}</option>)}</select></Field>}
        <Field label="From" help="a time such as 2026-11-01 08:00, how long ago, such as 24h, or a cursor"><input class="input" value={from} placeholder="24h" onInput={(e) => type(e.currentTarget.value)} /></Field>
        <p class="say grow" role="status">
          {wrong ? <span class="wrong">{tidy(wrong.title)}</span> : from.trim() && !body ? <span class="wrong">That is neither a time nor a cursor.</span> : counted ? <>{many} {counted.deliveries === 1 ? 'message' : 'messages'} since then. They keep their IDs, so that a receiver can ignore those that it has.</> : ''}
        </p>
        <Button busy={doing.busy} disabled={!counted || (counted.deliveries === 0 && !counted.more)} onClick={again}>{counted ? `Send ${many} again` : 'Send again'}</Button>
        {body && <AsLines method="POST" url={address(`/sinks/${part(name)}/replay`)} body={body} cli={`freshet sink replay ${quote(name)} ${body.after ? '--after ' + quote(body.after) : '--since ' + quote(body.since ?? '')}`} />}
      </div>
      <Outcome of={doing} />
    </Section>
  );
}

/** fromOf reads a cursor, a time, or how long ago. */
function fromOf(text: string): { after?: Cursor; since?: string } | undefined {
  const t = text.trim();
  if (/^\d+(~\w+)?$/.test(t)) return { after: t };
  const ago = /^(\d+(?:\.\d+)?)\s*(m|h|d|w)$/.exec(t);
  if (ago) return { since: new Date(Math.floor(Date.now() / 60e3) * 60e3 - Number(ago[1]) * { m: 60e3, h: 3600e3, d: 86400e3, w: 604800e3 }[ago[2] as 'm' | 'h' | 'd' | 'w']).toISOString() };
  const at = /^\d{4}-\d\d-\d\d/.test(t) ? Date.parse(t.includes(':') ? t : t + 'T00:00') : NaN;
  return Number.isNaN(at) ? undefined : { since: new Date(at).toISOString() };
}

/** WhoIsTold shows the sinks that follow a query, on the screen of the query. */
export function WhoIsTold({ query }: { query: string }) {
  const list = useLoad<{ items: SinkInfo[] }>((s) => get('/sinks', {}, s), [query], 10_000);
  return (
    <Section title="Sinks" side={may('write') && <a class="button ghost" href={'/sinks/new?query=' + encodeURIComponent(query)}><Icon name="plus" /> Add</a>}>
      <Show of={list}>{(l) => {
        const mine = l.items.filter((s) => s.queries?.includes(query)), others = l.items.filter((s) => !s.queries?.includes(query) && s.queries?.length && s.origin !== 'file');
        return (
          <>
            {mine.length === 0 && <p class="empty">None yet; its matches are here and in its Atom feed.</p>}
            {mine.length > 0 && (
              <table>
                <thead><tr><th scope="col">Name</th><th scope="col" class="desk">To</th><th scope="col">Last delivery</th><th scope="col" class="num">Pending</th><th scope="col" class="num desk">Failed</th><th scope="col"><span class="hidden-text">Test</span></th></tr></thead>
                <tbody>{mine.map((s) => <Told key={s.name} of={s} reload={list.reload} />)}</tbody>
              </table>
            )}
            {others.length > 0 && may('write') && <Follow query={query} others={others} reload={list.reload} />}
            {mine.length > 0 && may('write') && <Again sinks={mine} reload={list.reload} />}
          </>
        );
      }}</Show>
    </Section>
  );
}

function Told({ of: s, reload }: { of: SinkInfo; reload: () => void }) {
  const [doing, run] = useAction();
  const last = useLoad<{ items: Attempt[] }>((signal) => get(`/sinks/${part(s.name)}/attempts`, {}, signal), [s.name, s.standing.open, s.standing.place], 10_000);
  const a = last.data?.items[0];
  return (
    <>
      <tr>
        <td class="one"><Mark is={moodOf(s)} /> <a href={sinkPath(s.name)}><bdi>{tidy(s.name)}</bdi></a></td>
        <td class="one desk">{tidy(target(s))} <span class="dim">{kindName(s.kind ?? '')}</span></td>
        <td>{s.standing.error ? <span class="wrong">{tidy(s.standing.error)}</span> : a ? <>{a.accepted ? 'delivered' : 'refused'} <Time at={a.at} /> in {span(a.took_ms)}</> : <span class="dim">none since the daemon started</span>}</td>
        <td class="num">{s.standing.open ? count(s.standing.open) : '–'}</td>
        <td class="num desk">{s.standing.dead ? count(s.standing.dead) : '–'}</td>
        <td class="num"><Button kind="link" label={`Test ${s.name}`} busy={doing.busy} onClick={() => run(async () => { const said = await test(s.name); reload(); return said; })}>Test</Button></td>
      </tr>
      {(doing.done || doing.problem) && <tr><td colSpan={6}><Outcome of={doing} /></td></tr>}
    </>
  );
}

/** Follow has a sink that follows queries follow this one, too. */
function Follow({ query, others, reload }: { query: string; others: SinkInfo[]; reload: () => void }) {
  const [name, choose] = useState(others[0].name);
  const [doing, run] = useAction();
  const to = others.find((s) => s.name === name) ?? others[0];
  const body = { queries: [...(to.queries ?? []), query] };
  return (
    <div class="row wrap rows">
      Send matches to <select class="input" aria-label="Sink" value={name} onChange={(e) => choose(e.currentTarget.value)}>{others.map((s) => <option key={s.name}>{s.name}</option>)}</select>
      <Button busy={doing.busy} onClick={() => run(async () => { await send('PATCH', `/sinks/${part(to.name)}`, body); reload(); })}>Add</Button>
      <AsLines method="PATCH" url={address(`/sinks/${part(to.name)}`)} body={body} cli={`freshet sink edit ${quote(to.name)} ${body.queries.map((q) => '--query ' + quote(q)).join(' ')}`} />
      <Outcome of={doing} />
    </div>
  );
}

interface Draft { name: string; kind: string; url: string; queries: string[]; tags: string; sources: string; template: string; settings: Record<string, string>; headers: string }

function draftOf(s?: SinkInfo): Draft {
  const asked = new URLSearchParams(location.search);
  return {
    name: s?.name ?? '', kind: s?.kind ?? asked.get('kind') ?? '', url: s?.url ?? '', queries: s?.queries ?? asked.getAll('query'), tags: s?.tags?.join(', ') ?? '',
    sources: s?.sources?.join(', ') ?? '', template: s?.template ?? '', settings: { ...s?.settings }, headers: Object.entries(s?.headers ?? {}).map(([k, v]) => `${k}: ${v}`).join('\n'),
  };
}

function bodyOf(d: Draft): Record<string, unknown> {
  const words = (text: string) => text.split(',').map((t) => t.trim()).filter(Boolean);
  const headers = Object.fromEntries(d.headers.split('\n').filter((l) => l.includes(':')).map((l) => [l.slice(0, l.indexOf(':')).trim(), l.slice(l.indexOf(':') + 1).trim()]));
  const body: Record<string, unknown> = { kind: d.kind, url: d.url.trim(), queries: d.queries, tags: words(d.tags), sources: words(d.sources), template: d.template, settings: Object.fromEntries(Object.entries(d.settings).filter(([, v]) => v)), headers };
  for (const [key, v] of Object.entries(body)) {
    if (v === '' || (Array.isArray(v) ? v.length === 0 : typeof v === 'object' && Object.keys(v as object).length === 0)) delete body[key];
  }
  return body;
}

function Editor({ of: s, etag = '', reload, close }: { of?: SinkInfo; etag?: string; reload: () => void; close?: () => void }) {
  const [d, set] = useState(() => draftOf(s));
  const kinds = useKinds(), asked = useQueries();
  const [doing, run] = useAction();
  const [shown, show] = useState('');
  const kind = kinds.data?.items.find((k) => k.name === d.kind);
  const body = bodyOf(d);
  const dirty = JSON.stringify(d) !== JSON.stringify(draftOf(s));
  useEffect(() => {
    leave.value = dirty ? () => confirm('Leave without saving?') : null;
    return () => {
      leave.value = null;
    };
  }, [dirty]);
  const wrong = (field: string) => doing.problem?.at('body.' + field);
  const text = (key: 'url' | 'tags' | 'sources', label: string, help?: string) => (
    <Field label={label} help={help} wrong={wrong(key)}><input class="input" value={d[key]} onInput={(e) => set({ ...d, [key]: e.currentTarget.value })} /></Field>
  );
  const save = () => run(async () => {
    const saved = await send<SinkInfo>('PUT', '/sinks/' + part(d.name.trim()), { ...body, ...(s?.paused && { paused: true }) }, s ? {} : { new: true }, etag);
    leave.value = null;
    reload();
    if (s) close?.();
    else go(sinkPath(saved.name), true);
  });
  return (
    <>
      <div class="row wrap headline">
        <h1 class="title grow">{s ? <bdi>{tidy(s.name)}</bdi> : 'Add a sink'}</h1>
        {close && <Button local kind="ghost" onClick={close}>Cancel</Button>}
        <AsLines method="PUT" url={address('/sinks/' + part(d.name || 'NAME'), s ? {} : { new: true })} body={body} cli={sinkLine(s ? 'edit' : 'add', d.name || 'NAME', body)} />
        <Button kind="main" busy={doing.busy} disabled={!d.name.trim()} onClick={save}>Save</Button>
      </div>
      <Outcome of={doing} />
      <div class="form section">
        {!s && <div class="wide">{text('url', 'URL', kind ? (kind.name === 'email' ? 'empty means the mail server of the settings; else ' : '') + (kind.url && 'such as ' + kind.url) : 'https://hooks.slack.com/…, ntfy://ntfy.sh/my-topic, discord://…, smtp://…, or a URL of Apprise')}</div>}
        {!s && <Field label="Name" help="letters, digits, dots and dashes" wrong={wrong('name')}><input class="input" value={d.name} onInput={(e) => set({ ...d, name: e.currentTarget.value })} /></Field>}
        <Field label="Kind" help={kind?.about} wrong={wrong('kind')}>
          <select class="input" value={d.kind} onChange={(e) => set({ ...d, kind: e.currentTarget.value })}>{!s && <option value="">as the URL says</option>}{(kinds.data?.items ?? (d.kind ? [{ name: d.kind }] : [])).map((k) => <option key={k.name} value={k.name}>{kindName(k.name)}</option>)}</select>
        </Field>
        {s && (kind?.url || d.url) && text('url', 'URL', kind?.url && 'such as ' + kind.url)}
        {kind?.settings.map((x) => (
          <Field key={x.name} label={labelOf(x.name) + (x.needed ? ' (required)' : '')} help={x.about} wrong={wrong('settings.' + x.name)}>
            <input class="input" autocomplete="off" value={d.settings[x.name] ?? ''} placeholder={x.secret ? '${secret:NAME}' : ''} onInput={(e) => set({ ...d, settings: { ...d.settings, [x.name]: e.currentTarget.value } })} />
          </Field>
        ))}
      </div>
      <Section title="What it receives">
        <div class="form">
          {text('tags', 'Changes with these tags', 'separated by commas; empty means all')}
          {text('sources', 'Changes of these sources', 'IDs, separated by commas')}
        </div>
        {asked.data && asked.data.items.length > 0 && (
          <fieldset class="ask"><legend>Or only matches of</legend>
            <div class="row wrap">{asked.data.items.map((q) => (
              <label key={q.id} class="row"><input type="checkbox" checked={d.queries.includes(q.id)} onChange={(e) => set({ ...d, queries: e.currentTarget.checked ? [...d.queries, q.id] : d.queries.filter((id) => id !== q.id) })} /> <bdi>{tidy(q.name || q.id)}</bdi></label>
            ))}</div>
            {wrong('queries') && <p class="wrong" role="alert">{tidy(wrong('queries')!)}</p>}
          </fieldset>
        )}
      </Section>
      <Section title="Message">
        <Field label="Template" help="in Go's text/template, such as {{.Title}} {{.Summary}} {{.URL}} {{.Added}} {{.Diff}}; empty means the usual message" wrong={wrong('template')}>
          <textarea class="input code" rows={4} value={d.template} placeholder={kind?.template ?? ''} onInput={(e) => set({ ...d, template: e.currentTarget.value })} />
        </Field>
        <Field label="HTTP headers" help="one on each line, as Name: value" wrong={wrong('headers')}><textarea class="input code" rows={2} value={d.headers} onInput={(e) => set({ ...d, headers: e.currentTarget.value })} /></Field>
        <p><Button busy={doing.busy} onClick={() => run(async () => show((await send<{ body: string }>('POST', '/sinks-preview', body)).body))}>Show a sample</Button></p>
        {shown && <div class="as"><pre>{tidy(shown)}</pre></div>}
      </Section>
    </>
  );
}
