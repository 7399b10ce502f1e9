package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

// checkStore reads all that is stored and says whether it is what was written.
func checkStore(ctx context.Context, p *program, dir string, asJSON bool) error {
	if err := thereIsData(dir); err != nil {
		return err
	}
	report, err := sqlite.Verify(ctx, sqlite.Config{Dir: dir}, p.sayStep)
	p.clearStep()
	if err != nil {
		return err
	}
	return p.printReport(dir, "restore a backup, or copy what is still readable: freshet check --data "+dir+" --repair NEW", report, asJSON)
}

// checkDatabase is checkStore for data in PostgreSQL.
func checkDatabase(ctx context.Context, p *program, url string, asJSON bool) error {
	report, err := postgres.Verify(ctx, postgres.Config{URL: url}, p.sayStep)
	p.clearStep()
	if err != nil {
		return err
	}
	return p.printReport("the database", "restore a backup with pg_restore, or fail over to a standby", report, asJSON)
}

// printReport prints what was found in a store.
func (p *program) printReport(dir, hint string, report store.Report, asJSON bool) error {
	if asJSON {
		if report.Damages == nil {
			report.Damages = []store.Damage{}
		}
		return errors.Join(p.printJSON(report), damaged(dir, hint, report))
	}
	for _, d := range report.Damages {
		fmt.Fprintln(p.out, d.What)
	}
	if report.More > 0 {
		fmt.Fprintf(p.out, "and %d more problems\n", report.More)
	}
	if err := damaged(dir, hint, report); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "no damage found in %s: %d rows and %d bodies are as they were written\n", dir, report.Rows, report.Bodies)
	return err
}

// damaged returns how much is damaged as an error.
func damaged(dir, hint string, r store.Report) error {
	n := len(r.Damages) + r.More
	if n == 0 {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s: %w: %d problems found", dir, freshet.ErrDamaged, n), hint)
}

// repairStore saves what can be saved into a new data directory.
func repairStore(ctx context.Context, p *program, dir, into string, asJSON bool) error {
	if err := thereIsData(dir); err != nil {
		return err
	}
	r, err := sqlite.Repair(ctx, dir, into, p.sayStep)
	p.clearStep()
	if err != nil {
		return err
	}
	if asJSON {
		if r.Lost == nil {
			r.Lost = []sqlite.Damage{}
		}
		return p.printJSON(r)
	}
	for _, d := range r.Lost {
		fmt.Fprintln(p.out, d.What)
	}
	_, err = fmt.Fprintf(p.out, "copied %[2]d sources, %[3]d versions, %[4]d changes and %[5]d poll results to %[1]s; %[6]s was not changed\n",
		into, r.Sources, r.Versions, r.Changes, r.Outcomes, dir)
	return err
}

func thereIsData(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return freshet.WithHint(fmt.Errorf("data directory %s: %w", dir, freshet.ErrNotFound), "set one with --data or FRESHET_DATA")
	}
	return nil
}

// sayStep tells somebody who waits at a terminal how far a check is.
func (p *program) sayStep(g sqlite.Progress) {
	if !isTerminal(p.err) || p.env("TERM") == "dumb" {
		return
	}
	of := ""
	if g.Of > 0 {
		of = fmt.Sprintf(" of %d", g.Of)
	}
	fmt.Fprintf(p.err, "\r\x1b[K%s: %d%s", g.Doing, g.Done, of)
}

// clearStep takes away what sayStep has shown.
func (p *program) clearStep() {
	if isTerminal(p.err) && p.env("TERM") != "dumb" {
		fmt.Fprint(p.err, "\r\x1b[K")
	}
}

// storedHere is what --store stands for without a value.
const storedHere = "true"

// A storeFlag says that stored data is to be checked, and in which database if it is named.
type storeFlag struct {
	on  bool
	url string
}

// String returns the database.
func (f *storeFlag) String() string { return f.url }

// Type returns what the flag takes, for its help: nothing that must be there.
func (f *storeFlag) Type() string { return "bool" }

// Set notes what was written.
func (f *storeFlag) Set(v string) error {
	f.on = true
	if v != storedHere {
		f.url = v
	}
	return nil
}
