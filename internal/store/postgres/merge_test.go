package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
)

// Statements that are merged do what they do one after the other.
func TestMergedStatements(t *testing.T) {
	server := pgtest.Start(t)
	conn := server.Connect(t, server.Database(t))
	ctx := context.Background()
	if _, err := conn.Exec(ctx, "CREATE TABLE shelf (a BIGINT, b BIGINT, note TEXT, PRIMARY KEY (a, b))"); err != nil {
		t.Fatal(err)
	}
	const (
		number, text = 20, 25 // types of PostgreSQL
		whole        = "INSERT INTO shelf (a, b, note) VALUES ($1, $2, $3)"
		part         = "INSERT INTO shelf (a, b) VALUES ($1, $2)"
		deleteOne    = "DELETE FROM shelf WHERE a = $1 AND b = $2"
		deleteSome   = "DELETE FROM shelf WHERE a = $1"
		other        = "UPDATE shelf SET note = $1 WHERE b = $2"
	)
	shapes := map[string]*postgres.Shape{
		whole: postgres.ShapeOf(whole, []uint32{number, number, text}), part: postgres.ShapeOf(part, []uint32{number, number}),
		deleteOne: postgres.ShapeOf(deleteOne, []uint32{number, number}), deleteSome: postgres.ShapeOf(deleteSome, []uint32{number}),
	}
	for query, s := range shapes {
		if s == nil {
			t.Fatalf("%s is not merged", query)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if _, err := conn.Exec(ctx, "TRUNCATE shelf"); err != nil {
			t.Fatal(err)
		}
		var queued postgres.Backlog
		want := map[[2]int64]string{} // by key; "-" for none
		small := rapid.Int64Range(1, 4)
		for i := range rapid.IntRange(1, 40).Draw(t, "statements") {
			a, b, note := small.Draw(t, "a"), small.Draw(t, "b"), fmt.Sprint("note ", i)
			_, there := want[[2]int64{a, b}]
			switch kind := rapid.SampledFrom([]string{whole, whole, part, deleteOne, deleteOne, deleteSome, other}).Draw(t, "statement"); {
			case kind == whole && !there:
				queued.Merge(shapes[kind], []any{a, b, note})
				want[[2]int64{a, b}] = note
			case kind == part && !there:
				queued.Merge(shapes[kind], []any{a, b})
				want[[2]int64{a, b}] = "-"
			case kind == deleteOne:
				queued.Merge(shapes[kind], []any{a, b})
				delete(want, [2]int64{a, b})
			case kind == deleteSome:
				queued.Merge(shapes[kind], []any{a})
				maps.DeleteFunc(want, func(k [2]int64, _ string) bool { return k[0] == a })
			case kind == other:
				queued.Add(kind, []any{note, b})
				for k := range want {
					if k[1] == b {
						want[k] = note
					}
				}
			}
		}
		if err := conn.SendBatch(ctx, queued.Ready()).Close(); err != nil {
			t.Fatal(err)
		}
		got := map[[2]int64]string{}
		rows, err := conn.Query(ctx, "SELECT a, b, coalesce(note, '-') FROM shelf")
		for err == nil && rows.Next() {
			var k [2]int64
			var note string
			if err = rows.Scan(&k[0], &k[1], &note); err == nil {
				got[k] = note
			}
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("the table has %v, want %v (%v)", got, want, err)
		}
	})
}

// What is more than rows to insert or to delete by a key is not merged.
func TestNotMerged(t *testing.T) {
	for query, types := range map[string][]uint32{
		"INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT DO NOTHING": {20, 20},
		"INSERT INTO t (a, b) VALUES ($1, $2) RETURNING a":            {20, 20},
		"INSERT INTO t (a, b) VALUES ($1, $2)":                        {20, 17}, // bytes
		"DELETE FROM t WHERE a = $1 AND b > $2":                       {20, 20},
		"DELETE FROM t WHERE b = $2 AND a = $1":                       {20, 20},
		"DELETE FROM t WHERE a = $1 RETURNING checksum":               {20},
		"DELETE FROM t":                                  nil,
		"UPDATE t SET a = $1 WHERE b = $2":               {20, 20},
		"INSERT INTO t (a) SELECT a FROM u WHERE b = $1": {20},
	} {
		if postgres.ShapeOf(query, types) != nil {
			t.Errorf("%s is merged", query)
		}
	}
}
