// Changes as they come, and the log of all of them.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, get, part, type Query } from './api';
import { count, dayOf, plural, short, span, tidy } from './format';
import { quote } from './lines';
import { begin, gap, number, onChanges } from './live';
import { useLoad } from './load';
import { AsLines, Button, calledIn, Field, linesOf, nameOf, Section, Show, sourcePath, Time, typing, WhatChanged } from './parts';
import { choose, go, here } from './router';
import type { Change, Cursor, Source, SourcePage, Status } from './types';

/** idle reports whether no control has the focus. */
const idle = (e: KeyboardEvent) => e.target === document.body || (e.target as Element).id === 'main';

/** Row is one change. */
function Row({ of: c, fresh, at }: { of: Change; fresh?: boolean; at?: boolean }) {
  const most = span(Date.parse(c.before) - Date.parse(c.after));
  return (
    <a class={`change ${fresh ? 'fresh' : ''} ${at ? 'at' : ''}`} href={sourcePath(c.source, `?to=${c.number}`)} data-cursor={c.cursor}>
      <span class="when dim"><Time at={c.before} /></span>
      <span class="who one"><bdi>{tidy(calledIn(c))}</bdi></span>
      <span class="what one"><WhatChanged of={c} /></span>
      <span class="late dim num" title={`It happened at most ${most} before it was captured`}>≤ {most}</span>
      <span class="lines dim num">{linesOf(c)}</span>
    </a>
  );
}

/** Heads says what the columns of changes are. */
const Heads = () => <div class="heads" aria-hidden="true"><span class="when">Seen</span><span class="who">Source</span><span class="what">Now, and before</span><span class="late num">Late by at most</span><span class="lines num">Lines</span></div>;

const lookedKey = 'freshet.looked';

/** Changes is the stream of the overview. */
export function Changes() {
  const tag = here.value.query.get('tag') ?? '';
  const first = useLoad<{ items: Change[] }>((s) => get('/changes/newest', { limit: 60, tag }, s), [tag, gap.value]);
  return <Show of={first} bars={8}>{(f) => <Stream key={tag} first={f.items} tag={tag} />}</Show>;
}

/** Stream is the live list. Rows come in only where nobody points or reads further down. */
function Stream({ first, tag }: { first: Change[]; tag: string }) {
  const [rows, set] = useState(first);
  const [waiting, hold] = useState<Change[]>([]);
  const [paused, pause] = useState(false);
  const [fresh, mark] = useState<Set<string>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const looked = useMemo(() => Number(localStorage.getItem(lookedKey) ?? 0), []);
  const state = useRef({ paused, waiting, rows });
  state.current = { paused, waiting, rows };

  const show = (changes: Change[]) => {
    // Some may be there already: what was loaded anew and the stream overlap after a gap.
    set((old) => [...changes.filter((c) => !old.some((o) => o.cursor === c.cursor)), ...old].slice(0, 200));
    mark(new Set(changes.map((c) => c.cursor)));
  };
  useEffect(() => onChanges((news) => {
    const mine = news.filter((c) => !tag || c.tags?.includes(tag)).reverse();
    if (mine.length === 0) return;
    const el = box.current;
    const busy = state.current.paused || document.hidden || !el || el.matches(':hover') || el.contains(document.activeElement) || el.getBoundingClientRect().top < 0;
    if (busy) hold((w) => [...mine, ...w].slice(0, 500));
    else show([...mine, ...state.current.waiting.splice(0)]);
  }), [tag]);
  useEffect(() => {
    set((old) => (first[0] && number(first[0].cursor) > number(old[0]?.cursor) ? first : old));
  }, [first]);
  useEffect(() => {
    const newest = number(rows[0]?.cursor);
    const leave = () => localStorage.setItem(lookedKey, String(newest));
    addEventListener('pagehide', leave);
    return () => {
      removeEventListener('pagehide', leave);
      leave();
    };
  }, [rows[0]?.cursor]);
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (e.key === ' ' && idle(e)) {
        e.preventDefault();
        pause((p) => !p);
      }
      if (e.key === 'n') release();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  const release = () => {
    show(state.current.waiting);
    hold([]);
  };
  const tags = [...new Set([...(tag ? [tag] : []), ...rows.flatMap((c) => c.tags ?? [])])].sort();
  const shown = rows;
  let ruled = looked === 0;
  return (
    <Section
      title={<a href={'/changes' + (tag ? '?tag=' + encodeURIComponent(tag) : '')}>Changes</a>}
      note={rows[0] && count(number(rows[0].cursor))}
      side={
        <span class="row">
          {tags.length > 0 && (
            <select class="input" aria-label="Tag" value={tag} onChange={(e) => choose({ tag: e.currentTarget.value })}>
              <option value="">All tags</option>
              {tags.map((t) => <option key={t}>{t}</option>)}
            </select>
          )}
          <Button local kind="ghost" icon={paused ? 'play' : 'pause'} keys="Space" pressed={paused} onClick={() => pause(!paused)}>{paused ? 'Go on' : 'Pause'}</Button>
        </span>
      }
    >
      <p class="hidden-text" role="status">{waiting.length ? plural(waiting.length, 'new change') : ''}</p>
      {waiting.length > 0 && <Button local kind="link" onClick={release}>{waiting.length >= 500 ? 'Many' : waiting.length} new</Button>}
      {shown.length === 0 && <p class="empty">No change yet.</p>}
      {shown.length > 0 && <div class="changes"><Heads /></div>}
      <div class="changes" role="list" ref={box}>
        {shown.map((c) => {
          const old = number(c.cursor) <= looked;
          const rule = !ruled && old && c !== shown[0];
          if (old) ruled = true;
          return (
            <div role="listitem" key={c.cursor}>
              {rule && <p class="since">since you last looked</p>}
              <Row of={c} fresh={fresh.has(c.cursor)} />
            </div>
          );
        })}
      </div>
    </Section>
  );
}

/** filters are what the address of the log can say, as the API takes them. */
const filters = ['q', 'tag', 'source', 'site', 'since', 'until'] as const;
type Filter = Record<(typeof filters)[number], string>;

const spans: [string, string][] = [['', 'any time'], ['1h', 'the last hour'], ['1d', 'the last day'], ['7d', 'the last 7 days'], ['30d', 'the last 30 days'], ['dates', 'between dates']];

/** Log is the screen of all changes, newest first: filtered, live, as far back as one likes. */
export function Log() {
  const query = here.value.query;
  const filter = Object.fromEntries(filters.map((f) => [f, query.get(f) ?? ''])) as Filter;
  const key = JSON.stringify(filter);
  // Where the log ends is asked first: what comes later is told by the stream.
  const first = useLoad(async (s) => {
    const end = (await get<Status>('/status', {}, s)).last_change;
    const page = await get<{ items: Change[]; next: Cursor }>('/changes/newest', { ...filter, limit: 100 }, s);
    return { end, page };
  }, [key, gap.value]);
  return (
    <>
      <div class="row wrap">
        <h1 class="title grow">Changes</h1>
        <a class="button ghost" href={'/api/v1/feed.atom' + (filter.tag ? '?tag=' + encodeURIComponent(filter.tag) : '')} target="_blank" rel="noreferrer">Atom</a>
        <AsLines method="GET" url={address('/changes/newest', filter)} cli={line(filter)} />
      </div>
      <Filters of={filter} />
      <Show of={first} bars={10}>{(f) => <Rows key={key + f.end} {...f} filter={filter} />}</Show>
    </>
  );
}

/** line is the log as a command. */
function line(f: Filter): string {
  const flags: [string, string][] = [['tag', f.tag], ['site', f.site], ['query', f.q], ['since', f.since], ['until', f.until]];
  return ['freshet changes', f.source && quote(f.source), ...flags.map(([name, v]) => v && `--${name} ${quote(v)}`)].filter(Boolean).join(' ');
}

/** shifted is a date some days on; until is the day after the last one that is wanted. */
function shifted(date: string, days: number): string {
  const at = Date.parse(date.slice(0, 10));
  return Number.isNaN(at) ? '' : new Date(at + days * 86400e3).toISOString().slice(0, 10);
}

function Filters({ of: f }: { of: Filter }) {
  const [typed, type] = useState(f.q);
  const tags = useLoad<{ tags: { name: string }[] }>((s) => get('/sources/facets', {}, s), []);
  const dated = f.until !== '' || /^\d{4}-/.test(f.since);
  const [dates, show] = useState(dated);
  useEffect(() => {
    const timer = setTimeout(() => choose({ q: typed }), 300);
    return () => clearTimeout(timer);
  }, [typed]);
  const known = [...new Set([...(f.tag ? [f.tag] : []), ...(tags.data?.tags.map((t) => t.name) ?? [])])];
  return (
    <form class="form filters" role="search" onSubmit={(e) => { e.preventDefault(); choose({ q: typed }); }}>
      <Field label="Words"><input class="input" type="search" id="find-changes" placeholder="price -test" value={typed} onInput={(e) => type(e.currentTarget.value)} /></Field>
      <BySource id={f.source} />
      <Field label="Tag">
        <select class="input" value={f.tag} onChange={(e) => choose({ tag: e.currentTarget.value })}>
          <option value="">all</option>
          {known.map((t) => <option key={t} value={t}>{tidy(t)}</option>)}
        </select>
      </Field>
      <Field label="Seen">
        <select class="input" value={dates || dated ? 'dates' : f.since} onChange={(e) => { const v = e.currentTarget.value; show(v === 'dates'); choose({ since: v === 'dates' ? '' : v, until: '' }); }}>
          {[...spans, ...(dated || spans.some(([v]) => v === f.since) ? [] : [[f.since, 'the last ' + f.since] as [string, string]])].map(([v, words]) => <option key={v} value={v}>{words}</option>)}
        </select>
      </Field>
      {(dates || dated) && <Field label="From"><input class="input" type="date" value={f.since.slice(0, 10)} onChange={(e) => choose({ since: e.currentTarget.value })} /></Field>}
      {(dates || dated) && <Field label="To"><input class="input" type="date" value={shifted(f.until, -1)} onChange={(e) => choose({ until: shifted(e.currentTarget.value, 1) })} /></Field>}
    </form>
  );
}

/** BySource chooses a source by its name. */
function BySource({ id }: { id: string }) {
  const [typed, type] = useState<string>();
  const chosen = useLoad<Source | undefined>((s) => (id ? get('/sources/' + part(id), {}, s) : Promise.resolve(undefined)), [id]);
  const [found, offer] = useState<Source[]>([]);
  useEffect(() => {
    if (typed === undefined) return;
    const one = found.find((s) => nameOf(s) === typed);
    if (one || !typed) return choose({ source: one?.id });
    const stop = new AbortController();
    const timer = setTimeout(() => get<SourcePage>('/sources', { q: typed, named: true, limit: 8 }, stop.signal).then((p) => offer(p.items), () => undefined), 150);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [typed, found]);
  return (
    <Field label="Source">
      <input class="input" type="search" placeholder="all" list="sources-found" value={typed ?? (chosen.data ? tidy(nameOf(chosen.data)) : id)} onInput={(e) => type(e.currentTarget.value)} />
      <datalist id="sources-found">{found.map((s) => <option key={s.id} value={nameOf(s)}>{short(s.url)}</option>)}</datalist>
    </Field>
  );
}

/** Rows shows a page of the log, what comes meanwhile, and older pages. */
function Rows({ end, page, filter }: { end: Cursor; page: { items: Change[]; next: Cursor }; filter: Filter }) {
  const [rows, set] = useState(page.items);
  const [next, goOn] = useState(page.next);
  const [more, wait] = useState(false);
  const [waiting, hold] = useState<Change[]>([]);
  const [paused, pause] = useState(false);
  const [at, move] = useState(-1);
  const box = useRef<HTMLDivElement>(null);
  // What keys and the stream go by is at hand before the next paint, too.
  const state = useRef({ paused, waiting, upto: end, asking: false, at: -1 });
  state.current.paused = paused;
  state.current.waiting = waiting;
  const moveTo = (i: number) => move((state.current.at = i));
  const release = () => {
    const news = state.current.waiting;
    set((old) => [...news, ...old]);
    if (state.current.at >= 0) moveTo(state.current.at + news.length);
    hold([]);
  };
  // The server says which of the new ones are wanted, so that words mean the same.
  const news = async () => {
    const s = state.current;
    if (s.asking) return;
    s.asking = true;
    try {
      for (;;) {
        const found = await get<{ items: Change[]; next: Cursor }>('/changes', { ...filter, after: s.upto, limit: 200 } as Query);
        const moved = found.next !== s.upto;
        s.upto = found.next;
        if (found.items.length > 0) {
          const el = box.current;
          const busy = s.paused || document.hidden || !el || el.matches(':hover') || el.contains(document.activeElement) || el.getBoundingClientRect().top < 0;
          const fresh = found.items.reverse();
          if (busy) hold((w) => [...fresh, ...w]);
          else set((old) => [...fresh, ...old]);
        }
        if (!moved || found.items.length < 200) break;
      }
    } catch {
      // The next change, or the return of the daemon, asks again.
    }
    s.asking = false;
  };
  useEffect(() => {
    begin(end);
    return onChanges(() => void news());
  }, []);
  const older = async () => {
    wait(true);
    try {
      const found = await get<{ items: Change[]; next: Cursor }>('/changes/newest', { ...filter, before: next, limit: 100 } as Query);
      set((old) => [...old, ...found.items]);
      goOn(found.next);
    } finally {
      wait(false);
    }
  };
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      const step = { j: 1, k: -1 }[e.key];
      if (step) {
        const i = Math.max(0, Math.min(rows.length - 1, state.current.at + step));
        moveTo(i);
        const el = box.current?.querySelector<HTMLElement>(`[data-cursor="${CSS.escape(rows[i]?.cursor ?? '')}"]`);
        el?.focus({ preventScroll: true });
        el?.scrollIntoView({ block: 'nearest' });
      } else if (e.key === 'Enter' && idle(e) && rows[at]) go(sourcePath(rows[at].source, `?to=${rows[at].number}`));
      else if (e.key === 'n') release();
      else if (e.key === ' ' && idle(e)) {
        e.preventDefault();
        pause((p) => !p);
      }
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  const filtered = Object.values(filter).some(Boolean);
  let day = '';
  return (
    <Section
      title={filtered ? 'What matches' : 'All changes'} note={`${count(rows.length)}${number(next) > 0 ? ' so far' : ''}`}
      side={<Button local kind="ghost" icon={paused ? 'play' : 'pause'} keys="Space" pressed={paused} onClick={() => pause(!paused)}>{paused ? 'Go on' : 'Pause'}</Button>}
    >
      <p class="hidden-text" role="status">{waiting.length ? plural(waiting.length, 'new change') : ''}</p>
      {waiting.length > 0 && <Button local kind="link" onClick={release}>{count(waiting.length)} new</Button>}
      {rows.length === 0 && <p class="empty">{filtered ? (number(next) > 0 ? 'None among the newest; look further back.' : 'No change matches.') : 'No change yet.'}</p>}
      {rows.length > 0 && <div class="changes log"><Heads /></div>}
      <div class="changes log" role="list" ref={box}>
        {rows.map((c, i) => {
          const of = dayOf(c.before), rule = of !== day;
          day = of;
          return (
            <div role="listitem" key={c.cursor}>
              {rule && <p class="day">{of}</p>}
              <Row of={c} at={i === at} />
            </div>
          );
        })}
      </div>
      {number(next) > 0 && <p><Button needs="read" kind="ghost" busy={more} onClick={() => void older()}>{rows.length ? 'Older changes' : 'Look further back'}</Button></p>}
    </Section>
  );
}
