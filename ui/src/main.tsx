// The frame of the page: where one is, how it goes, keys, and finding things.
import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { earlyAnswers, forgetEarly, get } from './api';
import { Log } from './changes';
import { ago, tidy } from './format';
import { heard, up } from './live';
import { useLoad, useTicker } from './load';
import { Login, Me, Notice, Relogin, Shared, whoAmI } from './login';
import { guest, may, me } from './me';
import { Overview } from './overview';
import { Icon, Later, Lines, Logo, nameOf, sourcePath, useTitle } from './parts';
import { go, here } from './router';
import { Source } from './source';
import { Sources } from './sources';
import type { Overview as Data, SourcePage } from './types';

const screens: [string, string, string, string][] = [
  ['/', 'Overview', 'flow', 'o'], ['/changes', 'Changes', 'again', 'c'], ['/sources', 'Sources', 'list', 's'], ['/queries', 'Queries', 'filter', 'q'],
]; // on a phone, too

const more: typeof screens = [['/sinks', 'Sinks', 'out', 'k'], ['/lab', 'Lab', 'lab', 'l'], ['/settings', 'Settings', 'table', ',']];
const all = [...screens, ...more];

function App() {
  const [finding, find] = useState(false);
  const [keys, help] = useState(false);
  useKeys(() => find(true), () => help((k) => !k));
  const path = here.value.path;
  const at = all.find(([p]) => (p === '/' ? path === '/' : path.startsWith(p)))?.[0];
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="bar">
        <div class="bar-in">
          <a class="brand" href={guest() ? location.pathname : '/'} aria-label={guest() ? 'Freshet' : 'Freshet, overview'}><Logo /> Freshet</a>
          {guest() ? <span class="grow dim one">Shared with you</span> : (
            <>
              <nav class="grow" aria-label="Screens">
                <ul>{all.map(([p, word]) => <li key={p}><a href={p} aria-current={p === at ? 'page' : undefined}>{word}</a></li>)}</ul>
              </nav>
              <button type="button" class="finder" aria-label="Find a source or do something" onClick={() => find(true)}><Icon name="find" /> <span class="grow one">Find a source or do something</span> <kbd>/</kbd></button>
              {me.value?.known && <Pulse />}
            </>
          )}
          {!guest() && <Me />}
          {!guest() && may('write') && <a class="icon-button" href="/start" aria-label="Add a source" title="Add a source (a)"><Icon name="plus" /></a>}
          {!guest() && <Lines />}
          <button type="button" class="icon-button" aria-label="Light or dark" title="Light or dark (t)" onClick={turn}><Icon name="sun" /></button>
          <button type="button" class="icon-button desk" aria-label="Keys" title="Keys (?)" onClick={() => help(true)}>?</button>
        </div>
      </header>
      <Offline />
      <Notice />
      <main id="main" tabIndex={-1}><Screen path={path} /></main>
      {!guest() && <nav class="tabs-bottom" aria-label="Screens, below">
        {screens.map(([p, word, icon]) => <a key={p} href={p} aria-current={p === at ? 'page' : undefined}><Icon name={icon} size={20} /> {word}</a>)}
        <button type="button" onClick={() => find(true)}><Icon name="more" size={20} /> More</button>
      </nav>}
      {finding && <Palette close={() => find(false)} />}
      {keys && <Keys close={() => help(false)} />}
      <Relogin />
    </>
  );
}

function Screen({ path }: { path: string }) {
  const [, screen, ...rest] = path.split('/');
  const one = rest[0] && ['sources', 'queries', 'sinks'].includes(screen); // it has a name, which is the title
  useTitle(one ? undefined : ({ '': 'Overview', changes: 'Changes', sources: 'Sources', queries: 'Queries', sinks: 'Sinks', lab: 'Lab', start: 'Add a source', settings: 'Settings', login: 'Log in', share: 'Shared with you' }[screen] ?? 'Not found'));
  if (me.value === undefined) return null; // a stranger asks for nothing
  if (screen === 'share' && rest[0]) return <Shared secret={rest[0]} />;
  if (screen === 'login' || me.value?.known === false) return <Login />;
  const own = me.value?.source ? sourcePath(me.value.source) : me.value?.query ? '/queries/' + encodeURIComponent(me.value.query) : '';
  if (own && path !== own && !path.startsWith(own + '/')) return <><h1 class="title">This is not part of what was shared with you.</h1><p><a href={own}>To what was shared</a></p></>;
  if (screen === '') return <Overview />;
  if (screen === 'changes') return <Log />;
  const named = rest[0] ? decodeURIComponent(rest[0]) : '';
  if (screen === 'sources' && rest[0]) return <Source key={rest[0]} id={named} tab={rest[1] ?? ''} />;
  if (screen === 'sources') return <Sources />;
  if (screen === 'queries') return <Later draw={(m) => <m.Queries id={named} />} />;
  if (screen === 'sinks') return <Later draw={(m) => <m.Sinks name={named} />} />;
  if (screen === 'lab') return <Later draw={(m) => <m.Lab run={named} />} />;
  if (screen === 'settings') return <Later draw={(m) => <m.Program tab={rest[0] ?? ''} />} />;
  if (screen === 'start') return <Later draw={(m) => <m.Start />} />;
  return <><h1 class="title">There is no such page.</h1><p><a href="/">To the overview</a></p></>;
}

function Pulse() {
  const overview = useLoad<Data>((s) => get('/overview', {}, s), ['pulse'], 30_000);
  const is = up.value && overview.data?.status.ready !== false;
  return <span class={`pulse ${is ? '' : 'off'}`} role="status">{up.value ? (is ? 'live' : 'not ready') : 'away'} <span class="dim" title="Budget: the most requests a minute, second, hour or day">{overview.data?.status.budget}</span></span>;
}

function Offline() {
  const now = useTicker(1000);
  if (up.value) return null;
  return <div class="banner bad" role="alert"><p>Freshet cannot be reached. What you see is from {ago(new Date(heard.value).toISOString(), now)}; it goes on by itself when Freshet is back.</p></div>;
}

/** turn switches between light and dark. */
function turn() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  document.cookie = `freshet-theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`; // so that the shell has them, too
}

function useKeys(find: () => void, help: () => void) {
  const led = useRef(0); // when g was pressed
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      const typing = (e.target as Element).matches?.('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]');
      if ((e.ctrlKey || e.metaKey) && e.key === 'k') {
        e.preventDefault();
        return find();
      }
      if (typing || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
      if (localStorage.getItem('freshet.keys') === 'off' && e.key !== '?') return;
      if (Date.now() - led.current < 1200) {
        led.current = 0;
        const to = all.find(([, , , k]) => k === e.key);
        if (to) return go(to[0]);
      }
      if (e.key === 'g') led.current = Date.now();
      else if (e.key === '/') {
        e.preventDefault();
        find();
      } else if (e.key === '?') help();
      else if (e.key === 't') turn();
      else if (e.key === 'a' && may('write')) go('/start');
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
}

interface Hit { words: string; note: string; act: () => void }

function Palette({ close }: { close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const [text, type] = useState('');
  const [at, move] = useState(0);
  const [found, set] = useState<Hit[]>([]);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  useEffect(() => {
    let over = false;
    const fixed: Hit[] = [
      ...all.map(([p, word]) => ({ words: word, note: 'screen', act: () => go(p) })),
      ...(may('write') ? [
        { words: 'Add a source', note: 'a', act: () => go('/start') },
        { words: 'New query', note: '', act: () => go('/queries/new') },
        { words: 'New sink', note: '', act: () => go('/sinks/new') },
      ] : []),
      { words: 'Light or dark', note: 't', act: turn },
    ].filter((h) => h.words.toLowerCase().includes(text.toLowerCase()));
    set(fixed);
    move(0);
    const timer = setTimeout(async () => {
      if (!text.trim()) return;
      try {
        const page = await get<SourcePage>('/sources', { q: text, named: true, limit: 8 });
        if (!over) set([...page.items.map((s) => ({ words: nameOf(s), note: s.url, act: () => go(sourcePath(s.id)) })), ...fixed]);
      } catch {
        // The fixed ones remain.
      }
    }, 120);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [text]);
  const act = (i: number) => {
    close();
    found[i]?.act();
  };
  return (
    <dialog ref={box} class="palette" aria-label="Find" onClose={close} onClick={(e) => e.target === box.current && close()}>
      <input
        autofocus type="text" placeholder="Find a source or do something" aria-label="Find a source or do something" role="combobox" aria-expanded="true" aria-controls="hits" aria-activedescendant={found[at] ? 'hit-' + at : undefined} value={text}
        onInput={(e) => type(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
            e.preventDefault();
            move((at + (e.key === 'ArrowDown' ? 1 : found.length - 1)) % Math.max(1, found.length));
          } else if (e.key === 'Enter') act(at);
        }}
      />
      <div role="listbox" id="hits" aria-label="Found">
        {found.map((h, i) => <div key={i} id={'hit-' + i} role="option" aria-selected={i === at} onClick={() => act(i)}><b class="one"><bdi>{tidy(h.words)}</bdi></b><span class="grow small dim one"><bdi>{tidy(h.note)}</bdi></span></div>)}
      </div>
    </dialog>
  );
}

function Keys({ close }: { close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const [on, set] = useState(localStorage.getItem('freshet.keys') !== 'off');
  useEffect(() => {
    box.current?.showModal();
  }, []);
  const keys: [string, string][] = [
    ['/', 'find or do'], ['g o', 'overview'], ['g c', 'changes'], ['g s', 'sources'], ['g q', 'queries'], ['g k', 'sinks'], ['g l', 'lab'], ['g ,', 'settings'], ['t', 'light or dark'], ['j k', 'move in the list'], ['Enter', 'open'],
    ...(may('write') ? [['a', 'add a source'], ['x', 'select'], ['p', 'poll now']] as [string, string][] : []),
    ['e', 'settings of the source'], ['Space', 'hold the stream'], ['n', 'what is new; next difference'], ['[ ]', 'older, newer version'], ['1–4', 'views of a difference'], ['Esc', 'close'],
  ];
  return (
    <dialog ref={box} aria-labelledby="keys-title" onClose={close} onClick={(e) => e.target === box.current && close()}>
      <div class="inside">
        <div class="row"><h2 class="title grow" id="keys-title">Keys</h2><button type="button" class="icon-button" aria-label="Close" onClick={close}><Icon name="close" /></button></div>
        <ul class="keys">{keys.map(([k, words]) => <li key={k}><span>{words}</span><span>{k.split(' ').map((x) => <kbd key={x}>{x}</kbd>)}</span></li>)}</ul>
        <label class="row"><input type="checkbox" checked={on} onChange={(e) => { set(e.currentTarget.checked); localStorage.setItem('freshet.keys', e.currentTarget.checked ? 'on' : 'off'); }} /> Single keys do something</label>
      </div>
    </dialog>
  );
}

// The shell says who looks, unless it does not know them. What it asked for is there soon; it is
// drawn at once, not after an empty screen.
const told = document.getElementById('session')?.textContent;
if (told) me.value = JSON.parse(told);
else void whoAmI();
void earlyAnswers(150).then(() => {
  render(<App />, document.getElementById('app')!);
  setTimeout(forgetEarly); // what a screen asks for later has to be new
});
