package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"

	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

// An aim is what a store is opened for.
type aim struct {
	fresh bool // it is made if there is none
	look  bool // it is only looked at
}

// open takes a store for this process alone.
func open(ctx context.Context, where string, features []store.Feature, log *slog.Logger, as aim) (store.End, error) {
	var end store.End
	var err error
	if isDatabase(where) {
		end, err = postgres.OpenEnd(ctx, postgres.Config{URL: where, Features: features, ReadOnly: as.look, Log: log}, as.fresh)
	} else {
		end, err = sqlite.OpenEnd(ctx, sqlite.Config{Dir: where, Features: features, ReadOnly: as.look, Log: log}, as.fresh)
	}
	if err != nil {
		return nil, err
	}
	return end, nil
}

// isDatabase reports whether a store is a PostgreSQL database.
func isDatabase(where string) bool {
	u, err := url.Parse(where)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// Name returns the name of a store as it can be shown to anybody: without a password.
func Name(where string) string {
	if !isDatabase(where) {
		return where
	}
	u, err := url.Parse(where)
	if err != nil {
		return "the database"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	q.Del("password")
	q.Del("sslpassword")
	u.RawQuery = q.Encode()
	return u.String()
}

// same reports whether two names are of one store, as far as is known without opening it.
func same(a, b string) bool {
	if isDatabase(a) || isDatabase(b) {
		return a == b
	}
	first, err := filepath.Abs(a)
	second, err2 := filepath.Abs(b)
	return err == nil && err2 == nil && first == second
}

// admit refuses a source or a target that cannot be one. It reports whether the move was made
// already, but for its last step.
func (m *mover) admit(ctx context.Context) (left bool, err error) {
	from, err := markOf(ctx, m.from)
	if err != nil {
		return false, err
	}
	var to store.Mark
	if m.to != nil {
		if to, err = markOf(ctx, m.to); err != nil {
			return false, err
		}
	}
	switch from.State {
	case store.Incoming, store.Complete:
		return false, freshet.WithHint(&store.MoveError{Store: m.from.Name(), Reason: fmt.Sprintf("it is incomplete, because a move of %s to it was not finished", from.Other)}, "finish that move first")
	case store.Away:
		if to.State == store.Complete && to.Move == from.Move {
			return true, nil
		}
		return false, freshet.WithHint(&store.MoveError{Store: m.from.Name(), Reason: fmt.Sprintf("its data was moved to %s already", from.Other)},
			fmt.Sprintf("move it on from there, or take the move back: freshet cluster move --undo --from %s", m.from.Name()))
	}
	switch {
	case m.to == nil, to.State == store.Incoming, to.State == store.Complete: // that one starts over
		return false, nil
	case to.State == store.Away && m.cfg.Replace:
		return false, nil
	case to.State == store.Away:
		return false, freshet.WithHint(&store.MoveError{Store: m.to.Name(), Reason: fmt.Sprintf("it still has the data that was moved to %s", to.Other)},
			"delete that with --replace, or choose another target")
	}
	return false, m.wantEmpty(ctx)
}

// wantEmpty refuses a target that has anything in it.
func (m *mover) wantEmpty(ctx context.Context) error {
	return look(ctx, m.to, func(w *store.Writer) error {
		for _, t := range m.tables {
			query := "SELECT count(*) FROM (SELECT 1 FROM " + t.Name + " LIMIT 1) AS t"
			switch t.Name {
			case "seals": // of a store without anything in it
				continue
			case "epochs":
				query = "SELECT count(*) FROM epochs WHERE number > 1"
			}
			n, err := w.Number(query)
			if err != nil {
				return err
			}
			if n > 0 {
				return freshet.WithHint(&store.MoveError{Store: m.to.Name(), Reason: fmt.Sprintf("it is not empty; there are rows in %s", t.Name)},
					"choose a directory that does not exist yet, or a new database: createdb NAME")
			}
		}
		return nil
	})
}

// markOf returns the mark of a store.
func markOf(ctx context.Context, in store.End) (mark store.Mark, err error) {
	err = look(ctx, in, func(w *store.Writer) (err error) {
		mark, err = store.ReadMark(w)
		return err
	})
	return mark, err
}

// Undo lets a store be used again whose data was moved elsewhere. It returns where that is.
func Undo(ctx context.Context, where string, features []store.Feature) (other string, err error) {
	end, err := open(ctx, where, features, nil, aim{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, end.Close()) }()
	mark, err := markOf(ctx, end)
	if err != nil {
		return "", err
	}
	if mark.State != store.Away {
		what := "nothing was moved away from it"
		if mark.State != store.Unmarked {
			what = "it is the target of a move that was not finished"
		}
		return "", freshet.WithHint(&store.MoveError{Store: end.Name(), Reason: what}, "name the store that was moved")
	}
	return mark.Other, end.Alone(ctx, func(w *store.Writer) error { return store.PutMark(w, store.Mark{}) })
}
