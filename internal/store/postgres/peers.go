package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// Peers is what the nodes on one database know of each other: who leads, and who is there. It
// reads no store, so that it works also for a node whose version of freshet is another.
type Peers struct{ store *Store }

// OpenPeers connects to the database of a store, and makes its tables if there are none. It
// must be closed.
func OpenPeers(ctx context.Context, cfg Config) (_ *Peers, err error) {
	cfg.Readers = 2
	s, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Peers{s}, nil
}

// Examine returns how far the clock of PostgreSQL is ahead of that of this machine, and what an operator
// should know of its settings. It fails if a daemon could not use the database, and changes nothing.
func Examine(ctx context.Context, cfg Config) (ahead time.Duration, warnings []string, err error) {
	cfg.Readers = 1
	s, err := dial(ctx, cfg)
	if err != nil {
		return 0, nil, err
	}
	p := &Peers{s}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := s.usable(ctx); err != nil {
		return 0, nil, err
	}
	ahead, err = p.Ahead(ctx)
	return ahead, s.warnings, err
}

// Close closes the connections.
func (p *Peers) Close() error { return p.store.release() }

// Name returns the name of the database, without a password.
func (p *Peers) Name() string { return p.store.name }

// Ahead returns how far the clock of PostgreSQL is ahead of that of this machine. Nodes whose
// clocks differ date by that of PostgreSQL.
func (p *Peers) Ahead(ctx context.Context) (ahead time.Duration, err error) {
	closest := time.Duration(-1)
	for range 5 {
		before := time.Now()
		var there time.Time
		if err := p.store.reader.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
			return 0, p.store.base.Fault("reading the clock", err)
		}
		if took := time.Since(before); closest < 0 || took < closest {
			closest, ahead = took, there.Sub(before.Add(took/2))
		}
	}
	return ahead, nil
}

// A Lease says who leads.
type Lease struct {
	Term    int64         // how many have led before, and this one
	Holder  string        // which process it is
	Address string        // where it is reached
	Left    time.Duration // for which it lasts; not more than zero if nobody leads
	Length  time.Duration // for which it was taken; zero if that is not known
}

// Held reports whether a process leads.
func (l Lease) Held() bool { return l.Left > 0 }

// Lease returns who leads, by the clock of PostgreSQL.
func (p *Peers) Lease(ctx context.Context) (l Lease, err error) {
	var age, length float64
	err = p.store.reader.QueryRowContext(ctx, `SELECT epoch, holder, address,
		CASE WHEN isfinite(renewed) THEN CAST(extract(epoch FROM clock_timestamp() - renewed) AS DOUBLE PRECISION) ELSE 1e9 END, `+leaseHeld+`
		FROM leases WHERE name = 'brain'`).Scan(&l.Term, &l.Holder, &l.Address, &age, &length)
	l.Length = time.Duration(length * float64(time.Second))
	l.Left = max(p.store.cfg.Lease, l.Length) - time.Duration(age*float64(time.Second))
	return l, p.store.base.Fault("reading who leads", err)
}

// Redate sees to it that a lease which ends too far in the future ends in time: the clock of PostgreSQL
// was set back since it was renewed.
func (p *Peers) Redate(ctx context.Context) error {
	_, err := p.store.reader.ExecContext(ctx, redate)
	return p.store.base.Fault("dating the lease", err)
}

// The roles of a node.
const (
	Leader  = "brain"
	Standby = "standby"
	Lost    = "lost" // read-only: it has not reported for some leases
)

// A Node is a process that serves the API.
type Node struct {
	Name    string // of its run
	Address string
	Role    string
	Version string         // of freshet
	Upto    freshet.Cursor // outcomes that it has heard of
	Behind  int64          // so many fewer than there are; read-only
	Pass    freshet.Hash   // of what it shows to other nodes
	Told    string         // what it says of its hands
	Started time.Time
	Seen    time.Duration // so long ago; read-only
}

// seenFor is how long a node is taken to be there that gives no sign of life, in leases.
const seenFor = 3

// Beat gives a sign of life of a node, and forgets those that are long gone.
func (p *Peers) Beat(ctx context.Context, n Node) error {
	_, err := p.store.reader.ExecContext(ctx, `INSERT INTO nodes (name, address, role, version, upto, pass, told, started, seen)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, clock_timestamp())
		ON CONFLICT (name) DO UPDATE SET address = ?2, role = ?3, version = ?4, upto = ?5, pass = ?6, told = ?7, seen = clock_timestamp()`,
		n.Name, n.Address, n.Role, n.Version, int64(n.Upto), n.Pass[:], n.Told, n.Started)
	if err == nil {
		_, err = p.store.reader.ExecContext(ctx, "DELETE FROM nodes WHERE seen < clock_timestamp() - interval '10 minutes'")
	}
	return p.store.base.Fault("giving a sign of life", err)
}

// Leave takes a node out.
func (p *Peers) Leave(ctx context.Context, name string) error {
	_, err := p.store.reader.ExecContext(ctx, "DELETE FROM nodes WHERE name = ?", name)
	return p.store.base.Fault("leaving", err)
}

// Nodes returns who is there, by address, and who was lost in the last minutes.
func (p *Peers) Nodes(ctx context.Context) (found []Node, err error) {
	err = store.EachRow(ctx, p.store.reader, `SELECT name, address, role, version, upto, greatest(0, (SELECT upto FROM seals WHERE name = 'outcomes') - upto),
		told, started, CAST(extract(epoch FROM clock_timestamp() - seen) AS DOUBLE PRECISION)
		FROM nodes ORDER BY address, name`, nil,
		func(scan func(...any) error) error {
			var n Node
			var age float64
			err := scan(&n.Name, &n.Address, &n.Role, &n.Version, &n.Upto, &n.Behind, &n.Told, &n.Started, &age)
			n.Seen = time.Duration(max(0, age) * float64(time.Second))
			if n.Seen > seenFor*p.store.cfg.Lease {
				n.Role = Lost
			}
			found = append(found, n)
			return err
		})
	return found, p.store.base.Fault("reading the nodes", err)
}

// Knows reports whether a node is there that shows what has this hash.
func (p *Peers) Knows(ctx context.Context, pass freshet.Hash) (known bool, err error) {
	err = p.store.reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM nodes WHERE pass = ? AND seen > clock_timestamp() - make_interval(secs => ?))",
		pass[:], seenFor*p.store.cfg.Lease.Seconds()).Scan(&known)
	return known, p.store.base.Fault("looking for a node", err)
}

// Fact returns what all nodes know under a name; "" if nothing.
func (p *Peers) Fact(ctx context.Context, name string) (value string, err error) {
	err = p.store.reader.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = ?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, p.store.base.Fault("reading what nodes know", err)
}

// SetFact has all nodes know something under a name. Only who has the lease can.
func (s *Store) SetFact(ctx context.Context, name, value string) error {
	return s.Write(ctx, "telling the other nodes", func(w *store.Writer) error {
		_, err := w.Exec("INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", name, value)
		return err
	})
}
