package delivery

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/store"
)

// A Store is what sinks follow, and where their deliveries are recorded.
type Store struct {
	Archive
	Outbox
	Queries *queries.Store
}

// An Archive has the log of changes and their texts, as a [freshet.Store] does.
type Archive interface {
	freshet.ChangeLog
	Source(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error)
	RemovedSource(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error)
	Versions(ctx context.Context, id freshet.SourceID, in freshet.Between, before, limit int) ([]freshet.Version, error)
	Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error)
	Picture(ctx context.Context, id freshet.SourceID, number int) ([]byte, error)
}

// An Outbox records deliveries, as [sinks.Store] does.
type Outbox interface {
	Place(ctx context.Context, reader string) (sinks.Position, error)
	Advance(ctx context.Context, reader string, to sinks.Position, more []sinks.NewDelivery) error
	DueDeliveries(ctx context.Context, reader string, now time.Time, limit int) ([]sinks.PendingDelivery, time.Time, error)
	Settle(ctx context.Context, reader string, at ...sinks.Position) error
	DeadLetters(ctx context.Context, reader string, after sinks.Position, limit int) ([]sinks.PendingDelivery, error)
	Revive(ctx context.Context, reader string, at ...sinks.Position) (int, error)
	Postpone(ctx context.Context, reader string, d sinks.PendingDelivery) error
	ShiftDue(ctx context.Context, reader string, by time.Duration) error
	CountDeliveries(ctx context.Context, reader string) (open, dead int, err error)
	Retire(ctx context.Context, reader string, endpoint sinks.EndpointID, err string) error
	Retired(ctx context.Context, reader string, endpoint sinks.EndpointID) (bool, error)
	ReaderStatuses(ctx context.Context, reader string) ([]sinks.ReaderStatus, error)

	Sinks(ctx context.Context) ([]sinks.Record, error)
	Sink(ctx context.Context, name string) (sinks.Record, error)
	PutSink(ctx context.Context, name string, definition []byte, revision int64) (int64, error)
	SetCondition(ctx context.Context, name string, c sinks.Condition) error
	RemoveSink(ctx context.Context, name string) error
}

// NewStore returns the store in a database.
func NewStore(archive Archive, db *store.DB) Store {
	return Store{archive, sinks.NewStore(db), queries.NewStore(db)}
}
