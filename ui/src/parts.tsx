// The pieces that every screen is made of.
import type { ComponentChildren, VNode } from 'preact';
import { signal } from '@preact/signals';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { curl, Problem } from './api';
import { ago, exact, moment, safe, short, tidy } from './format';
import { up } from './live';
import type { Doing, Loaded } from './load';
import { useLoad, useTicker } from './load';
import { may, type Need } from './me';
import type { Change, Source } from './types';

type Kids = { children?: ComponentChildren };

/** Icons are drawn by hand, 16 by 16. */
const shapes: Record<string, string> = {
  find: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm4-1 3 3',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M13 3l-1.4 1.4M4.4 11.6 3 13',
  poll: 'M9 1 3 9h4l-1 6 6-8H8l1-6z',
  pause: 'M5 3v10M11 3v10',
  play: 'M4 3l9 5-9 5z',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  plus: 'M8 3v10M3 8h10',
  table: 'M2 3h12v10H2zM2 7h12M6 7v6',
  close: 'M4 4l8 8M12 4l-8 8',
  code: 'M5 4 1.5 8 5 12M11 4l3.5 4L11 12',
  again: 'M13 5v-3M13 5h-3M13 5A6 6 0 1 0 14 9',
  older: 'M10 3 5 8l5 5',
  newer: 'M6 3l5 5-5 5',
  up: 'M3 10l5-5 5 5',
  down: 'M3 6l5 5 5-5',
  out: 'M6 3H3v10h10v-3M9 3h4v4M13 3 7 9',
  tag: 'M2 2h5l7 7-5 5-7-7zM5 5h.01',
  list: 'M5 4h9M5 8h9M5 12h9M2 4h.01M2 8h.01M2 12h.01',
  filter: 'M2 3h12l-5 6v4l-2 1V9z',
  lab: 'M6 2h4M7 2v4l-4 7a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1L9 6V2M5 10h6',
  flow: 'M1 13h14M2 11c3 0 3-8 5-8s3 6 7 8',
  trash: 'M3 4h10M6 4V2h4v2M5 4l1 10h4l1-10',
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg viewBox="0 0 24 20" width="22" height="18" fill="currentColor" aria-hidden="true">
      <path d="M2 15C6 15 7 2 9.5 2S15 11 22 15z" />
      <path d="M1 17.5h22v1.5H1z" />
    </svg>
  );
}

interface ButtonProps extends Kids {
  kind?: 'main' | 'ghost' | 'link';
  icon?: string; keys?: string; busy?: boolean; disabled?: boolean; danger?: boolean; label?: string; pressed?: boolean;
  onClick?: (e: MouseEvent) => void; type?: 'button' | 'submit';
  /** local: it changes nothing on the server, and works while that is away. */
  local?: boolean;
  /** needs is the right that it takes; without it there is no button. What is not local writes, unless it says otherwise. */
  needs?: Need;
}

export function Button({ kind, icon, keys, busy, disabled, danger, label, pressed, onClick, type = 'button', local, needs = local ? 'none' : 'write', children }: ButtonProps) {
  if (!may(needs)) return null;
  const off = disabled || (!local && !up.value);
  return (
    <button
      type={type} class={`button ${kind ?? ''} ${danger ? 'danger' : ''}`} aria-busy={busy || undefined} aria-label={label} aria-pressed={pressed}
      disabled={off || busy} title={!local && !up.value ? 'Freshet cannot be reached' : label} onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
      {keys && <kbd>{keys}</kbd>}
    </button>
  );
}

/** A Section hangs from a rule. */
export function Section({ title, note, side, id, children }: Kids & { title: ComponentChildren; note?: ComponentChildren; side?: ComponentChildren; id?: string }) {
  const own = useId();
  return (
    <section class="section" aria-labelledby={id ?? own}>
      <header>
        <h2 id={id ?? own}>{title}</h2>
        <span class="grow">{note}</span>
        {side}
      </header>
      {children}
    </section>
  );
}

/** Show draws what was loaded: bars while it is slow, its problem if it failed. */
export function Show<T>({ of, bars = 3, children }: { of: Loaded<T>; bars?: number; children: (data: T) => ComponentChildren }) {
  return (
    <>
      {of.problem && <Trouble problem={of.problem} again={of.reload} />}
      {of.data !== undefined ? children(of.data) : of.slow && !of.problem ? <Bars n={bars} /> : null}
    </>
  );
}

const later = () => import('./later');

/** Later draws what is not opened first, when its part of the script is there. */
export function Later({ draw }: { draw: (m: Awaited<ReturnType<typeof later>>) => VNode }) {
  const loaded = useLoad(later, ['later']);
  return <Show of={loaded} bars={6}>{draw}</Show>;
}

export function Bars({ n = 3 }: { n?: number }) {
  return <div class="bars" aria-hidden="true">{Array.from({ length: n }, (_, i) => <span key={i} />)}</div>;
}

export function Trouble({ problem, again }: { problem: Problem; again?: () => void }) {
  return (
    <div class="wrong" role="alert">
      <p>{tidy(problem.title)}</p>
      {problem.hint && <p class="dim">{tidy(problem.hint)}</p>}
      {again && <button type="button" class="button link" onClick={again}>Try again</button>}
    </div>
  );
}

/** Outcome says where an action was taken how it ended. */
export function Outcome({ of }: { of: Doing }) {
  if (of.problem) return <Trouble problem={of.problem} />;
  return <p class="small good" role="status">{of.done ?? ''}</p>;
}

/** Marks say by their shape how a source is. */
export type Mood = 'failing' | 'level' | 'suspect' | 'noisy' | 'paused' | 'unseen' | 'well';

const words: Record<Mood, string> = {
  failing: 'Failing', level: 'Service level missed', suspect: 'Suspect', noisy: 'Noisy', paused: 'Paused', unseen: 'Not seen yet', well: 'Well',
};

export function mood(s: Source): Mood {
  if (s.paused) return 'paused';
  if (s.standing.failures > 0) return 'failing';
  if (s.standing.suspect) return 'suspect';
  if (s.standing.noisy) return 'noisy';
  if (!s.standing.last_seen) return 'unseen';
  return 'well';
}

export function Mark({ is, silent }: { is: Mood; silent?: boolean }) {
  const drawn: Record<Mood, VNode> = {
    failing: <path d="M6 1l5.5 10H.5z" fill="currentColor" />,
    level: <path d="M6 .5 11.5 6 6 11.5.5 6z" fill="currentColor" />,
    suspect: <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="2.4 1.6" />,
    noisy: <path d="M1 4.5c2-2 3 2 5 0s3 2 5 0M1 8.5c2-2 3 2 5 0s3 2 5 0" fill="none" stroke="currentColor" stroke-width="1.5" />,
    paused: <path d="M4 2v8M8 2v8" stroke="currentColor" stroke-width="2" />,
    unseen: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.6" />,
    well: <circle cx="6" cy="6" r="3" fill="currentColor" />,
  };
  return (
    <span class={`mark ${is}`}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">{drawn[is]}</svg>
      {!silent && <span class="hidden-text">{words[is]}</span>}
    </span>
  );
}

export const moodWords = words;

/** Time shows a moment, with the exact one on hover. */
export function Time({ at, as = 'moment' }: { at: string | undefined; as?: 'moment' | 'ago' }) {
  const now = useTicker(as === 'ago' ? 10_000 : 3_600_000);
  if (!at) return <span class="dim">–</span>;
  return <time dateTime={at} title={exact(at)}>{as === 'ago' ? ago(at, now) : moment(at, now)}</time>;
}

/** Out is a link that leaves the page. */
export function Out({ url, children }: Kids & { url: string }) {
  const to = safe(url);
  if (!to) return <bdi>{children ?? tidy(url)}</bdi>;
  return (
    <a href={to} target="_blank" rel="noreferrer noopener">
      <bdi>{children ?? tidy(url)}</bdi> <Icon name="out" size={11} />
    </a>
  );
}

/** nameOf is what a source is called: by its user, else by its page, else by its address. */
export const nameOf = (s: { name?: string; id: string; url?: string; standing?: { title?: string } }) => s.name || s.standing?.title || (s.url && short(s.url)) || s.id;

const titles = new Map<string, string>(); // by source; changes that are heard have none

/** calledIn is what the source of a change is called. */
export function calledIn(c: Change): string {
  if (c.title) titles.set(c.source, c.title);
  return c.name || titles.get(c.source) || (c.url ? short(c.url) : c.source);
}

/** useTitle names the tab of the browser. */
export function useTitle(name: string | undefined) {
  useEffect(() => {
    if (name) document.title = tidy(name) + ' · Freshet';
  }, [name]);
}

export const sourcePath = (id: string, below = '') => '/sources/' + encodeURIComponent(id) + below;

/** WhatChanged says in a line what a change was. */
export function WhatChanged({ of }: { of: Change }) {
  const field = of.fields?.[0];
  if (field) {
    return (
      <Line>
        {tidy(field.name)} {field.to !== null && <ins>{tidy(text(field.to))}</ins>} {field.from !== null && <del>{tidy(text(field.from))}</del>}
      </Line>
    );
  }
  const added = of.items?.added?.[0];
  if (added) return <Line><ins>{tidy(added.title || added.text || added.key)}</ins>{of.items!.added_count > 1 && ` and ${of.items!.added_count - 1} more`}</Line>;
  const [, lines, rest] = /^(\+\d+ -\d+ lines?|[^:]*): (.*)$/s.exec(of.summary) ?? [];
  if (of.page) return <Line>page {of.page}</Line>;
  const [now, was] = [of.text?.added?.[0], of.text?.removed?.[0]];
  if (now || was) return <Line>{now && <ins>{plain(now)}</ins>} {was && <del>{plain(was)}</del>}</Line>;
  return <Line>{rest ? <ins>{tidy(rest)}</ins> : tidy(of.summary || lines || '')}</Line>;
}

/** plain is a line without the mark of a list or a heading. */
const plain = (line: string) => tidy(line.replace(/^(?:[-*]|#+) (?=.)/, ''));

const text = (v: unknown) => (typeof v === 'object' ? JSON.stringify(v) : String(v));

function Line({ children }: Kids) {
  return <bdi class="mono one">{children}</bdi>;
}

/** linesOf returns how many lines a change added and removed, as the summary says. */
export function linesOf(c: Change): string {
  if (c.text) return `+${c.text.added_count} −${c.text.removed_count}`;
  const [, added, removed] = /^\+(\d+) -(\d+)/.exec(c.summary) ?? [];
  return added === undefined ? '' : `+${added} −${removed}`;
}

/** Numbers is the table behind a chart. */
export function Numbers({ head, rows }: { head: string[]; rows: (string | number)[][] }) {
  return (
    <div class="numbers" tabIndex={0} role="region" aria-label="Numbers of the chart">
      <table>
        <thead><tr>{head.map((h, i) => <th key={i} scope="col" class={i ? 'num' : ''}>{h}</th>)}</tr></thead>
        <tbody>{rows.map((r, i) => <tr key={i}>{r.map((c, j) => <td key={j} class={j ? 'num' : ''}>{c}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

/** useNumbers returns the switch of a chart and the table that it opens. */
export function useNumbers(head: string[], rows: () => (string | number)[][]): [VNode, VNode | null] {
  const [open, set] = useState(false);
  const toggle = (
    <button type="button" class="button ghost" aria-expanded={open} onClick={() => set(!open)}>
      <Icon name="table" /> Numbers
    </button>
  );
  return [toggle, open ? <Numbers head={head} rows={rows()} /> : null];
}

/** typing reports whether a key is meant for a field, a dialog or the browser, or single keys do nothing. */
export function typing(e: KeyboardEvent): boolean {
  return e.ctrlKey || e.metaKey || e.altKey || localStorage.getItem('freshet.keys') === 'off' || !!document.querySelector('dialog[open]')
    || !!(e.target as Element).matches?.('input:not([type=checkbox]):not([type=radio]), textarea, select');
}

/** An Act is something that can be done from a shell, too. */
export interface Act { method: string; url: string; body?: unknown; cli?: string }

/** acts are the actions of the screen that is shown. The bar has one menu with all of them as lines for a shell. */
export const acts = signal<Act[][]>([]);

/** AsLines puts an action, and others beside it, into that menu. */
export function AsLines({ also = [], needs = 'write', ...act }: Act & { also?: Act[]; needs?: Need }) {
  const key = JSON.stringify([act, also]), allowed = may(needs);
  useEffect(() => {
    if (!allowed) return;
    const mine = [act, ...also];
    acts.value = [...acts.value, mine];
    return () => {
      acts.value = acts.value.filter((a) => a !== mine);
    };
  }, [key, allowed]);
  return null;
}

/** Lines is that menu. */
export function Lines() {
  const box = useRef<HTMLDialogElement>(null);
  const [open, set] = useState(false);
  useEffect(() => {
    if (open) box.current?.showModal();
  }, [open]);
  const lines = [...new Set(acts.value.flat().flatMap((a) => [a.cli, curl(a.method, a.url, a.body)]).filter(Boolean) as string[])];
  return (
    <>
      <button type="button" class="icon-button lines" aria-haspopup="dialog" disabled={lines.length === 0} title="The actions of this screen as commands" onClick={() => set(true)}><Icon name="code" /><span class="hidden-text">As curl</span></button>
      {open && (
        <dialog ref={box} class="as-lines" aria-labelledby="lines-title" onClose={() => set(false)} onClick={(e) => e.target === box.current && set(false)}>
          <div class="inside">
            <div class="row"><h2 class="title grow" id="lines-title">As commands</h2><button type="button" class="icon-button" aria-label="Close" onClick={() => set(false)}><Icon name="close" /></button></div>
            <p class="small dim">What the buttons of this screen do, for a shell.</p>
            <div class="as wide" tabIndex={0} role="region" aria-label="Commands">
              {lines.map((l) => (
                <div class="row" key={l}>
                  <pre class="grow">{l}</pre>
                  <button type="button" class="button link" onClick={() => void navigator.clipboard?.writeText(l)}>Copy</button>
                </div>
              ))}
            </div>
          </div>
        </dialog>
      )}
    </>
  );
}

/** Field is an input with its label, its help and what is wrong with it. */
export function Field({ label, help, wrong, children }: Kids & { label: string; help?: string; wrong?: string }) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      {children}
      {wrong ? <span class="wrong" role="alert">{tidy(wrong)}</span> : help && <span class="help">{help}</span>}
    </label>
  );
}

/** Expiry asks when a link or a token expires. */
export function Expiry({ value, set }: { value: string; set: (value: string) => void }) {
  return (
    <Field label="Expires in">
      <select class="input" value={value} onChange={(e) => set(e.currentTarget.value)}>{[['7d', '7 days'], ['30d', '30 days'], ['90d', '90 days'], ['1y', '1 year'], ['', 'never']].map(([v, words]) => <option key={v} value={v}>{words}</option>)}</select>
    </Field>
  );
}
