// Users, tokens and share links. Each is a section that a screen can mount.
import { useState } from 'preact/hooks';
import { address, get, part, send } from './api';
import { tidy } from './format';
import { quote } from './lines';
import { useAction, useLoad } from './load';
import { whoAmI } from './login';
import { may, me } from './me';
import { AsLines, Button, Expiry, Field, Outcome, Section, Show, Time } from './parts';

interface User { name: string; role: string; password: boolean; provider?: boolean; created_at: string; password_set_at?: string }
interface Token { id: string; name: string; user?: string; scopes: string[]; tag?: string; created_at: string; expires_at?: string; used_at?: string }
interface Share { id: string; name?: string; user?: string; source?: string; query?: string; created_at: string; expires_at?: string; used_at?: string }

const roles = ['viewer', 'editor', 'admin'];
const kinds = ['read', 'write', 'admin'] as const;

/** Users lists who may use the page, for admins. */
export function Users() {
  const list = useLoad<{ items: User[] }>((s) => get('/users', {}, s), ['users']);
  const [doing, run] = useAction();
  const [name, say] = useState(''), [role, choose] = useState('viewer'), [password, type] = useState('');
  const change = (what: () => Promise<unknown>, done: string) => run(async () => {
    await what();
    list.reload();
    return done;
  });
  const first = list.data?.items.length === 0;
  const body = { name, role: first ? 'admin' : role, password: '…' };
  return (
    <Section title="Users" note="who may use this page and the API">
      <Show of={list}>{({ items }) => (items.length === 0
        ? <p>There are no users: anyone on this machine has full control. Once there is one, everybody has to log in.</p>
        : <div class="scrolls"><table>
          <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Password set</th><th scope="col">Added</th><th scope="col"><span class="hidden-text">Actions</span></th></tr></thead>
          <tbody>{items.map((u) => <UserRow key={u.name} of={u} change={change} />)}</tbody>
        </table></div>
      )}</Show>
      <form class="inline-form" onSubmit={(e) => {
        e.preventDefault();
        void change(() => send('POST', '/users', { ...body, password }), `${name} was added.`).then((ok) => ok && (say(''), type(''), first && void whoAmI()));
      }}>
        <Field label="Name" wrong={doing.problem?.at('body.name')}><input class="input" required autocomplete="off" value={name} onInput={(e) => say(e.currentTarget.value)} /></Field>
        {!first && <Field label="Role"><select class="input" value={role} onChange={(e) => choose(e.currentTarget.value)}>{roles.map((r) => <option key={r}>{r}</option>)}</select></Field>}
        <Field label="Password" wrong={doing.problem?.at('body.password')}><input class="input" type="password" required minLength={8} autocomplete="new-password" value={password} onInput={(e) => type(e.currentTarget.value)} /></Field>
        <Button needs="admin" type="submit" busy={doing.busy}>{first ? 'Add the first admin' : 'Add a user'}</Button>
        <AsLines needs="admin" method="POST" url={address('/users')} body={body} cli={`freshet user add ${quote(name || 'NAME')} --role ${body.role}`} />
      </form>
      <Outcome of={doing} />
    </Section>
  );
}

function UserRow({ of: u, change }: { of: User; change: (what: () => Promise<unknown>, done: string) => void }) {
  const [password, type] = useState<string>();
  const path = '/users/' + part(u.name);
  return (
    <tr>
      <td><bdi>{tidy(u.name)}</bdi></td>
      <td>{u.provider ? <>{u.role} <span class="small dim">by {tidy(me.value?.provider ?? 'the provider')}</span></> : <select class="input" aria-label={`Role of ${u.name}`} value={u.role} onChange={(e) => change(() => send('PATCH', path, { role: e.currentTarget.value }), `${u.name} is ${e.currentTarget.value} now.`)}>{roles.map((r) => <option key={r}>{r}</option>)}</select>}</td>
      <td><Time at={u.password_set_at} /></td>
      <td><Time at={u.created_at} /></td>
      <td class="row wrap">
        {u.provider ? null : password === undefined
          ? <Button needs="admin" kind="ghost" onClick={() => type('')}>New password</Button>
          : <form class="row" onSubmit={(e) => { e.preventDefault(); change(() => send('PATCH', path, { password }), `${u.name} has a new password; the old sessions have ended.`); type(undefined); }}>
            <input class="input" type="password" aria-label={`New password of ${u.name}`} minLength={8} required autocomplete="new-password" value={password} onInput={(e) => type(e.currentTarget.value)} />
            <Button needs="admin" type="submit">Set</Button>
          </form>}
        <Button needs="admin" kind="ghost" danger icon="trash" label={`Remove ${u.name}`} onClick={() => confirm(`Remove ${u.name}, with all sessions, tokens and links?`) && change(() => send('DELETE', path), `${u.name} was removed.`)} />
        <AsLines needs="admin" method="DELETE" url={address(path)} cli={`freshet user remove ${quote(u.name)}`}
          also={u.provider ? [] : [{ method: 'PATCH', url: address(path), body: { role: u.role }, cli: `freshet user edit ${quote(u.name)} --role ${u.role}` },
            { method: 'PATCH', url: address(path), body: { password: '…' }, cli: `freshet user edit ${quote(u.name)} --password` }]} />
      </td>
    </tr>
  );
}

/** Once shows a secret that is not shown again. */
function Once({ secret }: { secret: string }) {
  return (
    <div class="panel" role="status">
      <p>This is the token. Copy it now: it is not shown again.</p>
      <div class="row"><pre class="grow once">{secret}</pre><button type="button" class="button" onClick={() => void navigator.clipboard?.writeText(secret)}>Copy</button></div>
    </div>
  );
}

/** Tokens lists what programs show to be let in. */
export function Tokens() {
  const list = useLoad<{ items: Token[] }>((s) => get('/tokens', {}, s), ['tokens']);
  const [doing, run] = useAction();
  const [name, say] = useState(''), [scopes, grant] = useState(['read']), [tag, only] = useState(''), [expires, end] = useState('90d'), [made, show] = useState('');
  const body = { name, scopes, tag: tag || undefined, expires: expires || undefined };
  const add = (e: Event) => {
    e.preventDefault();
    void run(async () => {
      show((await send<{ secret: string }>('POST', '/tokens', body)).secret);
      say('');
      list.reload();
    });
  };
  return (
    <Section title="Tokens" note="for programs; each is shown once">
      <Show of={list}>{({ items }) => (items.length === 0 ? <p class="dim">There are no tokens.</p>
        : <div class="scrolls"><table>
          <thead><tr><th scope="col">Purpose</th><th scope="col">User</th><th scope="col">Allows</th><th scope="col">Expires</th><th scope="col">Last used</th><th scope="col"><span class="hidden-text">Actions</span></th></tr></thead>
          <tbody>{items.map((t) => (
            <tr key={t.id}>
              <td><bdi>{tidy(t.name)}</bdi></td><td>{t.user ? <bdi>{tidy(t.user)}</bdi> : '–'}</td><td>{t.scopes.join(', ')}{t.tag && <> of <bdi>{tidy(t.tag)}</bdi></>}</td>
              <td>{t.expires_at ? <Time at={t.expires_at} /> : 'never'}</td><td><Time at={t.used_at} as="ago" /></td>
              <td class="row wrap"><Button needs="read" kind="ghost" danger icon="trash" label={`Remove the token for ${t.name}`} onClick={() => void run(async () => { await send('DELETE', '/tokens/' + part(t.id)); list.reload(); return 'The token is removed.'; })} />
                <AsLines needs="read" method="DELETE" url={address('/tokens/' + part(t.id))} cli={`freshet user token remove ${quote(t.id)}`} /></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}</Show>
      {made && <Once secret={made} />}
      <form class="inline-form" onSubmit={add}>
        <Field label="Purpose" wrong={doing.problem?.at('body.name')}><input class="input" required value={name} onInput={(e) => say(e.currentTarget.value)} /></Field>
        <fieldset><legend>Allows</legend><div class="row">{kinds.filter(may).map((k) => (
          <label key={k} class="row"><input type="checkbox" checked={scopes.includes(k)} onChange={(e) => grant(e.currentTarget.checked ? [...scopes, k] : scopes.filter((s) => s !== k))} /> {k}</label>
        ))}</div></fieldset>
        <Field label="Only sources with the tag" wrong={doing.problem?.at('body.tag')}><input class="input" value={tag} onInput={(e) => only(e.currentTarget.value)} /></Field>
        <Expiry value={expires} set={end} />
        <Button needs="read" type="submit" busy={doing.busy} disabled={scopes.length === 0}>Make a token</Button>
        <AsLines needs="read" method="POST" url={address('/tokens')} body={body} cli={`freshet user token add ${quote(name || 'NAME')} --scope ${scopes.join(',')}${tag && ` --tag ${quote(tag)}`}${expires && ` --expires ${quote(expires)}`}`} />
      </form>
      <Outcome of={doing} />
    </Section>
  );
}

/** Shares lists the links that show one source or query to whoever has them. */
export function Shares() {
  const list = useLoad<{ items: Share[] }>((s) => get('/shares', {}, s), ['shares']);
  const [doing, run] = useAction();
  return (
    <Section title="Share links" note="each shows one source or query without a login">
      <Show of={list}>{({ items }) => (items.length === 0 ? <p class="dim">There are no share links. The Share button of a source or query makes one.</p>
        : <div class="scrolls"><table>
          <thead><tr><th scope="col">Shows</th><th scope="col">For</th><th scope="col">By</th><th scope="col">Expires</th><th scope="col">Last used</th><th scope="col"><span class="hidden-text">Actions</span></th></tr></thead>
          <tbody>{items.map((s) => (
            <tr key={s.id}>
              <td>{s.source ? <a href={'/sources/' + encodeURIComponent(s.source)}>source <bdi>{tidy(s.source)}</bdi></a> : <a href={'/queries/' + encodeURIComponent(s.query ?? '')}>query <bdi>{tidy(s.query ?? '')}</bdi></a>}</td>
              <td><bdi>{tidy(s.name ?? '')}</bdi></td><td>{s.user ? <bdi>{tidy(s.user)}</bdi> : '–'}</td>
              <td>{s.expires_at ? <Time at={s.expires_at} /> : 'never'}</td><td><Time at={s.used_at} as="ago" /></td>
              <td class="row wrap"><Button kind="ghost" danger icon="trash" label={`Remove the link to ${s.source ?? s.query}`} onClick={() => void run(async () => { await send('DELETE', '/shares/' + part(s.id)); list.reload(); return 'The link is removed.'; })} />
                <AsLines method="DELETE" url={address('/shares/' + part(s.id))} cli={`freshet user share remove ${quote(s.id)}`} /></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}</Show>
      <Outcome of={doing} />
    </Section>
  );
}

/** OwnPassword changes the password of whoever is looking. */
export function OwnPassword() {
  const [old, say] = useState(''), [fresh, type] = useState('');
  const [doing, run] = useAction();
  return (
    <Section title="Your password" note={`you are ${me.value?.user}, ${me.value?.role}`}>
      <form class="inline-form" onSubmit={(e) => {
        e.preventDefault();
        void run(async () => {
          await send('PUT', '/session/password', { old, new: fresh });
          say('');
          type('');
          return 'Your password was changed. Your other sessions have ended.';
        });
      }}>
        <Field label="Now" wrong={doing.problem?.at('body.old')}><input class="input" type="password" required autocomplete="current-password" value={old} onInput={(e) => say(e.currentTarget.value)} /></Field>
        <Field label="New" wrong={doing.problem?.at('body.new') ?? doing.problem?.at('body.password')}><input class="input" type="password" required minLength={8} autocomplete="new-password" value={fresh} onInput={(e) => type(e.currentTarget.value)} /></Field>
        <Button needs="read" type="submit" busy={doing.busy}>Change it</Button>
        <AsLines needs="read" method="PUT" url={address('/session/password')} body={{ old: '…', new: '…' }} cli={`freshet user edit ${quote(me.value?.user ?? '')} --password`} />
      </form>
      <Outcome of={doing} />
    </Section>
  );
}
