// The part of the settings that is about people: who may do what, and who did.
import { Audit } from './audit';
import { may, me } from './login';
import { OwnPassword, Shares, Tokens, Users } from './users';

/** People has all sections that the reader may see. */
export function People() {
  return (
    <>
      {me.value?.user && me.value.via === 'session' && <OwnPassword />}
      {may('admin') && <Users />}
      <Tokens />
      {may('write') && <Shares />}
      {may('admin') && <Audit />}
    </>
  );
}
