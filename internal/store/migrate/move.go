package migrate

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// Config says what to move where. From and To are each a data directory or the URL of a
// PostgreSQL database.
type Config struct {
	From, To string
	Features []store.Feature // that keep tables in both

	// Replace deletes what the target has, if that was moved elsewhere before.
	Replace bool

	// DryRun looks at both, and writes nothing.
	DryRun bool

	Say func(store.Progress) // how far it is, often; nil means that nobody wants to know
	Now func() time.Time     // the wall clock
	Log *slog.Logger         // nil means silence
}

// A Result is what came of a move.
type Result struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	DryRun   bool    `json:"dry_run"`
	Resumed  bool    `json:"resumed"` // all was there already, and only the marks were left to do
	Rows     int64   `json:"rows"`
	Bodies   int64   `json:"bodies_verified"`
	Tables   []Table `json:"tables"`
	Copying  float64 `json:"copy_seconds"`
	Checking float64 `json:"check_seconds"`
}

// A Table is one whose rows are moved.
type Table struct {
	Name string `json:"table"`
	Rows int64  `json:"rows"`
}

// A mover is one move.
type mover struct {
	cfg      Config
	from, to store.End
	result   Result
	tables   []store.Rows
	digests  []store.Digest // of the tables of the source
	mark     store.Mark     // at the target
}

// Run moves everything from one store to another. It returns ErrConflict if the target is not
// empty, ErrBusy if one of them is in use, and ErrDamaged if what arrived is not as it was
// written.
func Run(ctx context.Context, cfg Config) (_ Result, err error) {
	if cfg.Say == nil {
		cfg.Say = func(store.Progress) {}
	}
	m := &mover{cfg: cfg, tables: store.NewSchema(cfg.Features).Tables()}
	m.result.DryRun, m.result.Tables = cfg.DryRun, []Table{}
	m.result.From, m.result.To = Name(cfg.From), Name(cfg.To)
	if same(cfg.From, cfg.To) {
		return m.result, freshet.WithHint(invalid.Errorf("to", "it is the store that is to be moved"), "name another directory or database")
	}
	if m.from, err = open(ctx, cfg.From, cfg.Features, cfg.Log, aim{}); err != nil {
		return m.result, err
	}
	defer func() { err = errors.Join(err, m.from.Close()) }()
	m.result.From = m.from.Name()
	m.to, err = open(ctx, cfg.To, cfg.Features, cfg.Log, aim{fresh: true, look: cfg.DryRun})
	switch {
	case cfg.DryRun && errors.Is(err, freshet.ErrNotFound): // there is nothing yet
	case err != nil:
		return m.result, err
	default:
		defer func() { err = errors.Join(err, m.to.Close()) }()
		m.result.To = m.to.Name()
	}
	err = m.run(ctx)
	return m.result, err
}

func (m *mover) run(ctx context.Context) error {
	left, err := m.admit(ctx)
	if err != nil {
		return err
	}
	if left && !m.cfg.DryRun {
		m.result.Resumed = true
		return m.finish(ctx)
	}
	if err := m.count(ctx); err != nil || m.cfg.DryRun {
		return err
	}
	m.mark = store.Mark{State: store.Incoming, Move: strings.ToLower(rand.Text()), Other: m.from.Name(), At: m.cfg.Now()}
	if err := m.put(ctx, m.to, m.mark); err != nil {
		return err
	}
	began := time.Now()
	if err := m.copy(ctx); err != nil {
		return err
	}
	m.result.Copying = time.Since(began).Seconds()
	began = time.Now()
	if err := m.compare(ctx); err != nil {
		return err
	}
	if err := m.verify(ctx); err != nil {
		return err
	}
	m.result.Checking = time.Since(began).Seconds()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := m.takeSettings(ctx); err != nil {
		return err
	}
	m.mark.State = store.Complete
	if err := m.put(ctx, m.to, m.mark); err != nil {
		return err
	}
	away := store.Mark{State: store.Away, Move: m.mark.Move, Other: m.to.Name(), At: m.cfg.Now()}
	if err := m.put(ctx, m.from, away); err != nil {
		return err
	}
	return m.finish(ctx)
}

// finish takes away the mark of the target: from now on it is the store.
func (m *mover) finish(ctx context.Context) error {
	return m.put(ctx, m.to, store.Mark{})
}

// put marks a store.
func (m *mover) put(ctx context.Context, in store.End, mark store.Mark) error {
	return in.Alone(ctx, func(w *store.Writer) error { return store.PutMark(w, mark) })
}

// count counts what is to be moved.
func (m *mover) count(ctx context.Context) error {
	return look(ctx, m.from, func(w *store.Writer) error {
		for _, t := range m.tables {
			n, err := w.Number("SELECT count(*) FROM " + t.Name)
			if err != nil {
				return err
			}
			m.result.Rows += n
			m.result.Tables = append(m.result.Tables, Table{t.Name, n})
		}
		return nil
	})
}

// copy fills the tables of the target.
func (m *mover) copy(ctx context.Context) error {
	if err := m.to.Clear(ctx); err != nil {
		return err
	}
	m.digests = make([]store.Digest, len(m.tables))
	err := look(ctx, m.from, func(w *store.Writer) error {
		for i, t := range m.tables {
			if err := m.to.Fill(ctx, t, m.rows(ctx, w, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.to.Settle(ctx)
}

// takeSettings takes along what was set while the daemon ran, if anything was.
func (m *mover) takeSettings(ctx context.Context) error {
	text, err := m.from.Settings(ctx)
	if err != nil || text == "" {
		return err
	}
	return m.to.TakeSettings(ctx, text)
}

// selection reads a table in the order of its key.
func selection(t store.Rows) string {
	return fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(t.Columns, ", "), t.Name, strings.Join(t.Keys, ", "))
}

// errEnough ends the reading of a table whose rows are not wanted any more.
var errEnough = errors.New("no more rows are wanted")

// rows returns the rows of a table of the source, and adds them to its digest.
func (m *mover) rows(ctx context.Context, w *store.Writer, i int) iter.Seq2[[]driver.Value, error] {
	t, digest := m.tables[i], &m.digests[i]
	return func(yield func([]driver.Value, error) bool) {
		err := w.Query(selection(t), nil, func(row []driver.Value) error {
			digest.Add(row)
			m.say(store.Progress{Doing: "copying " + t.Name, Done: digest.Count, Of: m.result.Tables[i].Rows})
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			for i, v := range row {
				if body, ok := v.([]byte); ok && body == nil { // SQLite's driver has an empty one so, and takes it for NULL
					row[i] = []byte{}
				}
			}
			if !yield(row, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, fmt.Errorf("reading %s of %s: %w", t.Name, m.from.Name(), err))
		}
	}
}

// compare reads the tables of the target, and holds them against those of the source.
func (m *mover) compare(ctx context.Context) error {
	return look(ctx, m.to, func(w *store.Writer) error {
		for i, t := range m.tables {
			var got store.Digest
			err := w.Query(selection(t), nil, func(row []driver.Value) error {
				got.Add(row)
				m.say(store.Progress{Doing: "comparing " + t.Name, Done: got.Count, Of: m.digests[i].Count})
				return ctx.Err()
			})
			if err != nil {
				return err
			}
			if want := &m.digests[i]; !got.Equals(want) {
				return fmt.Errorf("%s: %w: of the %d rows of %s %d arrived, and they are not the same", m.to.Name(), freshet.ErrDamaged, want.Count, t.Name, got.Count)
			}
		}
		return nil
	})
}

// verify has the checksums, the chains of the logs and the hash of every version verified as
// they are in the target.
func (m *mover) verify(ctx context.Context) error {
	report, err := m.to.Verify(ctx, func(g store.Progress) {
		g.Doing = "verifying " + g.Doing
		m.cfg.Say(g)
	})
	if err != nil {
		return err
	}
	m.result.Bodies = report.Bodies
	return report.Err(m.from.Name(), "find out what is damaged, and repair it, before you move it: freshet check --store")
}

// say says how far the move is, at the first row of a table and now and then.
func (m *mover) say(g store.Progress) {
	if g.Done%256 == 1 {
		m.cfg.Say(g)
	}
}

// look reads a store as it is at one moment.
func look(ctx context.Context, in store.End, read func(*store.Writer) error) error {
	w, err := in.Snapshot(ctx)
	if err != nil {
		return err
	}
	return errors.Join(read(w), w.Close())
}
