// A link that shows one source or query to whoever has it.
import { useState } from 'preact/hooks';
import { address, send } from './api';
import { quote } from './lines';
import { useAction } from './load';
import { may } from './me';
import { AsLines, Button, Expiry, Outcome } from './parts';

/** Share offers to make a link to a source or a query, and shows it whole, once. */
export function Share({ what, id }: { what: 'source' | 'query'; id: string }) {
  const [open, show] = useState(false);
  const [expires, end] = useState('30d');
  const [link, made] = useState('');
  const [doing, run] = useAction();
  if (!may('write')) return null;
  const body = { [what]: id, expires: expires || undefined };
  return (
    <>
      <Button local kind="ghost" icon="out" needs="write" pressed={open} onClick={() => show(!open)}>Share</Button>
      {open && (
        <div class="panel wide share">
          {link ? (
            <>
              <p>Whoever has this link sees this {what} and nothing else. Copy it now: it is not shown again.</p>
              <div class="row"><input class="input code grow" readOnly aria-label="The link" value={link} onFocus={(e) => e.currentTarget.select()} />
                <Button local kind="main" onClick={() => void navigator.clipboard?.writeText(link)}>Copy</Button></div>
            </>
          ) : (
            <div class="row wrap">
              <Expiry value={expires} set={end} />
              <Button kind="main" busy={doing.busy} onClick={() => run(async () => made(location.origin + (await send<{ path: string }>('POST', '/shares', body)).path))}>Make a link</Button>
              <AsLines method="POST" url={address('/shares')} body={body} cli={`freshet user share add --${what} ${quote(id)}${expires && ` --expires ${expires}`}`} />
              <a class="small" href="/settings/people">All links</a>
            </div>
          )}
          <Outcome of={doing} />
        </div>
      )}
    </>
  );
}
