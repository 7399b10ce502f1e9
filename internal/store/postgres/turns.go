package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"freshet/internal/freshet"
)

// A Turn says which node may write which copy of what was learnt, beside the one that leads. There is
// one for all nodes. A copy does not count before the one that leads has written the last piece of it, as
// all else under its lease: so a turn has only to keep two from writing the same copy at the same time.
type Turn struct {
	Term   int64  `json:"term"`   // of the lease under which it was given
	Number int64  `json:"number"` // of the turns in that term
	Node   string `json:"node"`   // the name of its run; "" if nobody may
	Copy   string `json:"copy"`   // the estimator of its beliefs
}

// ErrTurnOver means that a node may not write any more what it was asked to.
var ErrTurnOver = errors.New("another node was asked, or none")

// What nodes know of turns.
const (
	turnFact  = "turn"
	offerFact = "offer"
)

// GiveTurn gives a turn, and takes away the one before: who has that writes nothing any more when it
// returns. Of two that lead, as one of them thinks, the later one's holds.
func (p *Peers) GiveTurn(ctx context.Context, t Turn) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	done, err := p.store.reader.ExecContext(ctx, `INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2
		WHERE CAST(CAST(facts.value AS JSON) ->> 'term' AS BIGINT) <= ?3`, turnFact, string(text), t.Term)
	n := int64(0)
	if err == nil {
		n, err = done.RowsAffected()
	}
	if err == nil && n == 0 {
		err = ErrFenced
	}
	return p.store.base.Fault("saying who saves what was learnt", err)
}

// Turn returns the turn that holds; zero if none was ever given.
func (p *Peers) Turn(ctx context.Context) (t Turn, err error) {
	text, err := p.Fact(ctx, turnFact)
	if err != nil || text == "" {
		return t, err
	}
	return t, json.Unmarshal([]byte(text), &t)
}

// An offer is what a node says at the end of its turn.
type offer struct {
	Turn Turn            `json:"turn"`
	Said json.RawMessage `json:"said"`
}

// Offer says at the end of a turn what was written, if that turn still holds. Said becomes JSON.
func (p *Peers) Offer(ctx context.Context, t Turn, said any) error {
	inner, err := json.Marshal(said)
	if err != nil {
		return err
	}
	text, err := json.Marshal(offer{t, inner})
	if err != nil {
		return err
	}
	turn, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = p.store.reader.ExecContext(ctx, `INSERT INTO facts (name, value) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM facts WHERE name = ?3 AND value = ?4)
		ON CONFLICT (name) DO UPDATE SET value = ?2`, offerFact, string(text), turnFact, string(turn))
	return p.store.base.Fault("saying what was saved", err)
}

// Offered reads into said what a node said at the end of a turn, and reports whether it has said that.
func (p *Peers) Offered(ctx context.Context, t Turn, said any) (bool, error) {
	text, err := p.Fact(ctx, offerFact)
	var found offer
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &found)
	}
	if err != nil || found.Turn != t {
		return false, err
	}
	return true, json.Unmarshal(found.Said, said)
}

// SaveInTurn saves beliefs of the copy of a turn, all of the same place in the log, and returns how many.
// It is one statement: whoever takes the turn away waits until it is done, and never for this process. The
// turn ends with the lease under which it was given, too: the next to lead may be of a version that knows
// of no turns.
// It can only be used on a store that is not written.
func (s *Store) SaveInTurn(ctx context.Context, t Turn, beliefs []freshet.Belief) (saved int, err error) {
	if len(beliefs) == 0 {
		return 0, nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	one, err := s.reader.Conn(ctx)
	if err != nil {
		return 0, s.base.Fault("saving beliefs", err)
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	rows := s.BeliefRows(beliefs)
	err = one.Raw(func(raw any) error {
		c := raw.(*conn)
		var held bool
		err := c.Conn.Conn().QueryRow(ctx, `WITH held AS (SELECT 1 FROM facts WHERE name = $1 AND value = $2 AND EXISTS (SELECT 1 FROM leases WHERE name = 'brain' AND epoch = $8) FOR SHARE), saved AS (
				INSERT INTO beliefs (estimator, source, upto, memory, checksum)
				SELECT $3, r.source, $4, r.memory, r.checksum FROM unnest($5::int8[], $6::bytea[], $7::int8[]) AS r (source, memory, checksum)
				WHERE EXISTS (SELECT 1 FROM held) AND EXISTS (SELECT 1 FROM sources s WHERE s.key = r.source)
				ON CONFLICT (estimator, source) DO UPDATE SET upto = excluded.upto, memory = excluded.memory, checksum = excluded.checksum
				RETURNING 1)
			SELECT EXISTS (SELECT 1 FROM held), (SELECT count(*) FROM saved)`,
			turnFact, string(text), t.Copy, int64(beliefs[0].Upto), rows.Sources, rows.Memories, rows.Checksums, t.Term).Scan(&held, &saved)
		if err == nil && !held {
			return ErrTurnOver
		}
		return c.judged(err)
	})
	if errors.Is(err, ErrTurnOver) {
		return 0, fmt.Errorf("save what was learnt: %w", err)
	}
	return saved, s.base.Fault("saving beliefs", err)
}
