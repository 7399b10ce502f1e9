package store

import (
	"context"
	"maps"
	"slices"

	"freshet/internal/freshet"
)

// Accounts implements [freshet.Outbox].
func (s *Store) Accounts(ctx context.Context, reader string) ([]freshet.Account, error) {
	found := accounts{}
	for _, read := range []func(context.Context, string, accounts) error{s.accountPlaces, s.accountDebts, s.accountRetired} {
		if err := read(ctx, reader, found); err != nil {
			return nil, s.fault("reading how it stands with readers", err)
		}
	}
	var all []freshet.Account
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[name])
	}
	return all, nil
}

// accounts are those of readers by name.
type accounts map[string]*freshet.Account

// of returns the account of a reader.
func (a accounts) of(reader string) *freshet.Account {
	if a[reader] == nil {
		a[reader] = &freshet.Account{Reader: reader}
	}
	return a[reader]
}

// ofReader is the end of a query for one reader, or for all.
func ofReader(reader string) (where string, args []any) {
	if reader == "" {
		return "", nil
	}
	return " WHERE reader = ?", []any{reader}
}

// accountPlaces reads how far readers are. The end of a parcel is that of its last match.
func (s *Store) accountPlaces(ctx context.Context, reader string, found accounts) error {
	epochs, err := s.epochsNow(ctx)
	if err != nil {
		return err
	}
	where, args := ofReader(reader)
	return eachRow(ctx, s.reader, `SELECT r.reader, coalesce(r.stream, 0), r.place, coalesce(m.cursor, 0) FROM places r
		LEFT JOIN parcels p ON r.stream = 1 AND p.cursor = (SELECT max(cursor) FROM parcels WHERE cursor <= r.place)
		LEFT JOIN matches m ON m.query = p.query AND m.number = p.last`+where, args, func(scan func(...any) error) error {
		var a freshet.Account
		var end freshet.Cursor
		if err := scan(&a.Reader, &a.At.Stream, &a.At.Cursor, &end); err != nil {
			return err
		}
		if a.Begun, a.Told = true, epochs.changes.Place(a.At.Cursor); a.At.Stream == freshet.StreamParcels {
			a.Told = epochs.matches.Place(end)
		}
		*found.of(a.Reader) = a
		return nil
	})
}

// accountDebts counts what readers owe.
func (s *Store) accountDebts(ctx context.Context, reader string, found accounts) error {
	where, args := ofReader(reader)
	return eachRow(ctx, s.reader, "SELECT reader, count(due), count(*) - count(due) FROM debts"+where+" GROUP BY reader", args, func(scan func(...any) error) error {
		var a freshet.Account
		if err := scan(&a.Reader, &a.Open, &a.Dead); err != nil {
			return err
		}
		of := found.of(a.Reader)
		of.Open, of.Dead = a.Open, a.Dead
		return nil
	})
}

// accountRetired reads which endpoints want no more.
func (s *Store) accountRetired(ctx context.Context, reader string, found accounts) error {
	where, args := ofReader(reader)
	return eachRow(ctx, s.reader, "SELECT reader, endpoint FROM retired"+where+" ORDER BY reader, endpoint", args, func(scan func(...any) error) error {
		var name string
		var endpoint freshet.EndpointID
		if err := scan(&name, &endpoint); err != nil {
			return err
		}
		of := found.of(name)
		of.Retired = append(of.Retired, endpoint)
		return nil
	})
}
