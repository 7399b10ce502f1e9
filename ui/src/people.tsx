// The part of the settings that is about people: who may do what.
import { may, me } from './me';
import { OwnPassword, Shares, Tokens, Users } from './users';

/** People has all sections that the reader may see. */
export function People() {
  return (
    <>
      {me.value?.user && me.value.via === 'session' && !me.value.guest && <OwnPassword />}
      {may('admin') && <Users />}
      {!me.value?.source && !me.value?.query && <Tokens />}
      {may('write') && <Shares />}
    </>
  );
}
