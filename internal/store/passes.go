package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
)

const passColumns = "id, kind, secret, user, name, parent, address, bounds, created, expires, used"

func scanPass(scan func(...any) error) (p freshet.Pass, err error) {
	var secret []byte
	var bounds string
	var created, expires, used moment
	if err := scan(&p.ID, &p.Kind, &secret, &p.User, &p.Name, &p.Parent, &p.From, &bounds, &created, &expires, &used); err != nil {
		return p, err
	}
	if copy(p.Secret[:], secret) != len(p.Secret) {
		return p, fmt.Errorf("%s %s: %w", p.Kind, p.ID, freshet.ErrDamaged)
	}
	p.Created, p.Expires, p.Used = created.time(), expires.time(), used.time()
	if err := json.Unmarshal([]byte(bounds), &p.Limit); err != nil {
		return p, fmt.Errorf("read %s %s: %w", p.Kind, p.ID, err)
	}
	return p, nil
}

// AddPass implements [freshet.UserStore].
func (s *Store) AddPass(ctx context.Context, p freshet.Pass) error {
	bounds, err := json.Marshal(p.Limit)
	if err != nil {
		return err
	}
	return s.write(ctx, "adding a "+string(p.Kind), func(b *batch) error {
		if p.User != "" {
			if _, revision, err := b.userRow(p.User); err != nil || revision == 0 {
				return errors.Join(err, unknownUser(p.User))
			}
		}
		if p.Parent != "" {
			found := false
			err := b.Query("SELECT 1 FROM passes WHERE id = ?", []driver.Value{p.Parent}, func([]driver.Value) error { found = true; return nil })
			if err != nil || !found {
				return errors.Join(err, fmt.Errorf("pass %s: %w", p.Parent, freshet.ErrNotFound))
			}
		}
		return b.insert(&passesTable, p.ID, string(p.Kind), p.Secret[:], p.User, p.Name, p.Parent, p.From, string(bounds),
			momentOf(p.Created).value(), momentOf(p.Expires).value(), momentOf(p.Used).value())
	})
}

// PassWith implements [freshet.UserStore].
func (s *Store) PassWith(ctx context.Context, secret freshet.Hash) (freshet.Pass, error) {
	p, err := scanPass(s.reader.QueryRowContext(ctx, "SELECT "+passColumns+" FROM passes WHERE secret = ?", secret[:]).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("pass: %w", freshet.ErrNotFound)
	}
	return p, s.fault("reading a pass", err)
}

// Passes implements [freshet.UserStore].
func (s *Store) Passes(ctx context.Context, kind freshet.PassKind) (found []freshet.Pass, err error) {
	err = eachRow(ctx, s.reader, "SELECT "+passColumns+" FROM passes WHERE kind = ? ORDER BY created DESC NULLS LAST, id", []any{string(kind)}, func(scan func(...any) error) error {
		p, err := scanPass(scan)
		found = append(found, p)
		return err
	})
	return found, s.fault("reading the passes", err)
}

// UsePass implements [freshet.UserStore].
func (s *Store) UsePass(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "noting that a pass was used", func(b *batch) error {
		return b.amend(&passesTable, "id = ?", []driver.Value{id}, func(row []driver.Value) {
			row[len(row)-1] = momentOf(at).value()
		})
	})
}

// RemovePasses implements [freshet.UserStore].
func (s *Store) RemovePasses(ctx context.Context, which freshet.Passing) (gone []string, err error) {
	if which.ID == "" && which.User == "" && which.Kind == "" {
		return nil, errors.New("remove passes: nothing says which")
	}
	err = s.write(ctx, "removing passes", func(b *batch) (err error) {
		gone, err = b.removePasses("(? = '' OR id = ?) AND (? = '' OR user = ?) AND (? = '' OR kind = ?) AND id <> ?",
			which.ID, which.ID, which.User, which.User, string(which.Kind), string(which.Kind), which.But)
		return err
	})
	return gone, err
}

// removePasses removes those for which a condition holds, and those that were got with
// them.
func (b *batch) removePasses(where string, args ...driver.Value) (gone []string, err error) {
	err = b.Query("SELECT id FROM passes WHERE "+where, args, func(v []driver.Value) error {
		id, _ := v[0].(string)
		gone = append(gone, id)
		return nil
	})
	for i := 0; i < len(gone) && err == nil; i++ {
		err = b.Query("SELECT id FROM passes WHERE parent = ?", []driver.Value{gone[i]}, func(v []driver.Value) error {
			id, _ := v[0].(string)
			gone = append(gone, id)
			return nil
		})
	}
	for _, id := range gone {
		if err == nil {
			err = b.remove(&passesTable, "id = ?", id)
		}
	}
	return gone, err
}
