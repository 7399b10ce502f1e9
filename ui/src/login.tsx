// Who is looking: the login, what the shell says of it, and share links.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { address, ask, get, onDenied, Problem, send } from './api';
import { tidy } from './format';
import { back } from './live';
import { useAction } from './load';
import { me, type Session } from './me';
import { Button, Field, Trouble } from './parts';
import { go, here } from './router';

// ended says that a session has ended while the page was open: what is shown and typed stays.
const ended = signal(false);

/** whoAmI asks the daemon. */
export async function whoAmI(): Promise<void> {
  try {
    me.value = await get<Session>('/session');
    ended.value = false;
  } catch {
    // Screens say for themselves what is wrong; the next request finds out who asks.
    me.value ??= { known: true, scopes: [], open: false, secure: true };
  }
}

onDenied(() => {
  if (me.value?.via) ended.value = true;
  else void whoAmI();
});
back.subscribe(() => void (me.value && !me.value.via && me.value.known && whoAmI()));

/** enter logs in and has everything that is shown load anew. */
async function enter(body: Record<string, string>): Promise<void> {
  me.value = await send<Session>('POST', '/session', body);
  ended.value = false;
  back.value++;
}

function Form({ done, why, next }: { done?: () => void; why: string; next: string }) {
  const [way, choose] = useState<'password' | 'token'>('password');
  const [user, name] = useState(me.value?.user ?? '');
  const [secret, type] = useState('');
  const [doing, run] = useAction();
  const submit = async (e: Event) => {
    e.preventDefault();
    const ok = await run(() => enter(way === 'password' ? { user: user.trim(), password: secret } : { token: secret.trim() }));
    type('');
    if (ok) done?.();
  };
  return (
    <form onSubmit={(e) => void submit(e)} class="login">
      <p class="dim">{why}</p>
      {me.value?.provider && (
        <p class="provider">
          <a class="button main" data-away href={'/login/oidc?next=' + encodeURIComponent(next)}>Log in with <bdi>{tidy(me.value.provider)}</bdi></a>
        </p>
      )}
      {way === 'password' && <Field label="User"><input class="input" name="username" autocomplete="username" autocapitalize="none" spellcheck={false} required value={user} onInput={(e) => name(e.currentTarget.value)} /></Field>}
      <Field label={way === 'password' ? 'Password' : 'Token'}>
        <input class="input" type="password" name={way} autocomplete={way === 'password' ? 'current-password' : 'off'} required value={secret} onInput={(e) => type(e.currentTarget.value)} />
      </Field>
      {doing.problem && <Trouble problem={doing.problem} />}
      <div class="row">
        <Button needs="none" kind={me.value?.provider ? undefined : 'main'} type="submit" busy={doing.busy}>Log in</Button>
        <button type="button" class="button link" onClick={() => choose(way === 'password' ? 'token' : 'password')}>{way === 'password' ? 'Use a token' : 'Use a password'}</button>
      </div>
      {me.value && !me.value.secure && !['localhost', '127.0.0.1', '[::1]'].includes(location.hostname) && <p class="small dim">This connection is not encrypted: others on the network can read the password.</p>}
    </form>
  );
}

/** inside is an address of this page, whatever was asked for. */
function inside(next: string | null): string {
  try {
    const to = new URL(next ?? '/', location.origin);
    if (to.origin === location.origin && !to.pathname.startsWith('/login')) return to.pathname + to.search;
  } catch {
    // Not an address.
  }
  return '/';
}

// What a login at the provider came to. The address has a word for it and no text: anybody can make up an address.
const failures: Record<string, string> = {
  state: 'This login was begun in another browser or tab, or too long ago. Please try again.',
  denied: 'The provider did not let you in.',
  provider: 'The provider does not answer as it should. Try again later, or log in with a password.',
  token: 'What the provider said could not be verified, so you were not let in.',
  many: 'Too many failed logins. Wait a minute, then try again.',
  role: 'The provider knows you, but you have no role here. Ask an admin of this Freshet.',
  first: 'The first user must be an admin, and you are not one. Ask the operator of this Freshet.',
  last: 'You are no longer an admin at the provider, and there is no other here. Ask the operator of this Freshet.',
};

/** Login is the screen at /login, and what is shown in the place of any other to a stranger. */
export function Login() {
  const at = here.value;
  const away = at.path === '/login';
  const word = at.query.get('error');
  const failed = word && (Object.hasOwn(failures, word) ? failures[word] : 'The login failed. Please try again.');
  const next = away ? inside(at.query.get('next')) : location.pathname + location.search;
  useEffect(() => {
    if (away && me.value?.known && !failed) go(next, true);
  }, [me.value]);
  return (
    <div class="login-page">
      <h1 class="title">Log in</h1>
      {failed && <Trouble problem={new Problem(failed, 401)} />}
      <Form why="This Freshet shows its sources only to people it knows." next={next} done={() => away && go(next, true)} />
    </div>
  );
}

/** Relogin asks again over what is shown when a session has ended. */
export function Relogin() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (ended.value && !box.current?.open) box.current?.showModal();
  }, [ended.value]);
  if (!ended.value) return null;
  return (
    <dialog ref={box} aria-labelledby="again-title" onCancel={(e) => e.preventDefault()}>
      <div class="inside">
        <h2 class="title" id="again-title">Log in again</h2>
        <Form why={'Your session has ended. What you see and what you have typed stays' + (me.value?.provider ? ' if you use a password.' : '.')} next={location.pathname + location.search} />
      </div>
    </dialog>
  );
}

/** Shared trades the secret of a link for a session, and leads to what it shows. */
export function Shared({ secret }: { secret: string }) {
  const [problem, set] = useState<Problem>();
  useEffect(() => {
    void (async () => {
      try {
        if (!me.value?.known || me.value.source || me.value.query) await enter({ token: secret });
        const shown = me.value?.source || me.value?.query ? me.value : (await ask<Session>('GET', address('/session'), undefined, { headers: { Authorization: 'Bearer ' + secret } })).data;
        go(shown.source ? '/sources/' + encodeURIComponent(shown.source) : '/queries/' + encodeURIComponent(shown.query ?? ''), true);
      } catch (err) {
        set(err instanceof Problem ? err : new Problem(String(err), -1));
      }
    })();
  }, [secret]);
  return <><h1 class="title">Shared with you</h1>{problem ? <Trouble problem={problem} /> : <p class="dim">Opening…</p>}</>;
}

/** Me says in the shell who is looking, and lets them go. */
export function Me() {
  const [, run] = useAction();
  const s = me.value;
  if (!s?.known || s.open || !s.via?.startsWith('session')) return null;
  const out = () => run(async () => {
    await send('DELETE', '/session');
    await whoAmI();
    go('/login');
  });
  return (
    <span class="me">
      {s.user && <a href="/settings" class="one" title={`${s.user}, ${s.role}`}><bdi>{tidy(s.user)}</bdi></a>}
      <button type="button" class="button ghost" onClick={() => void out()}>Log out</button>
    </span>
  );
}

/** Notice says that nobody has to log in, until it was read. */
export function Notice() {
  const [read, set] = useState(localStorage.getItem('freshet.notice') ?? '');
  const text = me.value?.notice ?? '';
  if (!text || read === text) return null;
  return (
    <aside class="banner" aria-label="Who can use this page">
      <p class="row"><span class="grow">{tidy(text)} <a href="/settings/people">Add an admin</a></span>
        <button type="button" class="button link" onClick={() => { localStorage.setItem('freshet.notice', text); set(text); }}>Got it</button></p>
    </aside>
  );
}
