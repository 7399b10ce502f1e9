package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet"
	"freshet/lab"
	"freshet/sqlite"
)

// A storeFlags says whether the daemon's own history takes the place of a
// trace, and how it is read.
type storeFlags struct {
	on     bool
	days   float64
	place  placementFlag
	hidden bool
	chosen bool // the instant was: nobody named one
}

func (f *storeFlags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.on, "from-store", false, "take the history that a daemon has recorded in the data directory, in the place of a trace")
	set.Float64Var(&f.days, "days", 0, "only the last so many days of what was recorded (default: all)")
	set.Var(&f.place, "place", "where a recorded change is put between the two polls that it fell between, unless its source dates it: spread (by chance), early or late")
	set.BoolVar(&f.hidden, "hidden", f.hidden, "put in, by chance, also the changes that are thought to have hidden between two polls beside a recorded one")
}

// fromStoreHelp is for the verbs that can replay what was recorded.
const fromStoreHelp = `
With --from-store the history is the one that a daemon has recorded in the data
directory, which may be at work meanwhile. Each source keeps its own site, life,
urgency, weight and bounds, unless a flag says otherwise; the budget is by default
what was really spent, and an instant a tenth of the usual time between two polls
of a source. Those sources show dates that do so in the log (--evidence bits: none).
The log knows of a change only the two polls that it fell between, and of several in
between only one. The others are put in by chance, as many as a steady rate of each
source makes likely. With --hidden=false they are left out; changes that nobody saw
then do not exist, and the policy that made the log is favoured.
`

// A placementFlag says where in its window a change is put.
type placementFlag struct{ lab.Placement }

// Type returns what the flag takes, for its help.
func (f *placementFlag) Type() string { return "PLACE" }

// Set reads a placement.
func (f *placementFlag) Set(v string) (err error) {
	f.Placement, err = lab.ParsePlacement(v)
	return meant(err, v, lab.Spread.String(), lab.Early.String(), lab.Late.String())
}

// dataDir returns the data directory that was named. The verbs of the lab have
// flags of their own called like settings, which are left out of it.
func dataDir(p *program, cmd *cobra.Command) (string, error) {
	bare := &cobra.Command{}
	bare.SetContext(cmd.Context())
	for _, name := range []string{"data", "config"} {
		if f := cmd.Flag(name); f != nil {
			bare.Flags().AddFlag(f)
		}
	}
	s, err := p.settings(bare)
	if err == nil {
		err = s.CheckData()
	}
	return s.Data, err
}

// openRecorded reads what a daemon has recorded, and lays it on a grid.
func (l *labSetting) openRecorded(p *program, cmd *cobra.Command, f *storeFlags) (*lab.Case, error) {
	dir, err := dataDir(p, cmd)
	if err != nil {
		return nil, err
	}
	kept, err := readStore(cmd.Context(), p, dir, f, l.seed)
	if err != nil {
		return nil, err
	}
	if f.chosen = !cmd.Flags().Changed("instant"); f.chosen {
		l.instant = kept.Instant()
	} else if l.instant <= 0 {
		return nil, usagef("--instant: it takes a length of time above 0")
	}
	if !cmd.Flags().Changed("evidence") {
		l.evidence.Evidence = lab.Dated // of the sources that have dates
	}
	period := kept.Period(l.instant)
	if !l.start.IsZero() {
		period.Start = l.start.Time
	}
	if !l.end.IsZero() {
		period.End = l.end.Time
	}
	c, err := kept.Case(lab.Retelling{
		Dir: dir, Place: f.place.Placement, Period: period, Sources: kept.sources,
		Stakes: l.on, OwnLife: !cmd.Flags().Changed("life"), OwnUrgency: !cmd.Flags().Changed("urgency"),
	})
	return c, flagFault(err)
}

// A storedHistory is what a data directory holds for the lab.
type storedHistory struct {
	*lab.Recorded
	sources map[freshet.SourceID]freshet.Source
}

// readStore reads what a daemon has recorded in a data directory. The daemon
// may go on meanwhile.
func readStore(ctx context.Context, p *program, dir string, f *storeFlags, seed uint64) (kept storedHistory, err error) {
	if !(f.days >= 0) || f.days > 36500 {
		return kept, usagef("--days: it takes a number of days above 0, such as 7 or 0.5")
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, ReadOnly: true, Readers: 1})
	if err != nil {
		if freshet.HintOf(err) == "" {
			err = freshet.WithHint(err, "name the directory that freshet serve uses with --data")
		}
		return kept, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	kept.sources = map[freshet.SourceID]freshet.Source{}
	gone := map[freshet.SourceID]bool{}
	for k, err := range store.Known(ctx) {
		if err != nil {
			return kept, err
		}
		kept.sources[k.ID], gone[k.ID] = k.Source, k.Removed || k.Paused
	}
	log, err := lab.OpenLog(ctx, store, time.Duration(f.days*float64(day)))
	if err != nil {
		return kept, err
	}
	bar := p.progress("reading", log.Len())
	kept.Recorded, err = lab.FromOutcomes(log.Outcomes(ctx, bar.add), lab.LogOptions{
		Place: f.place.Placement, Fill: f.hidden, Seed: seed, Gone: func(id freshet.SourceID) bool { return gone[id] },
	})
	bar.done()
	if err != nil {
		return kept, err
	}
	return kept, worthReading(dir, kept.Recorded)
}

// worthReading complains of a log that nothing can be learned from.
func worthReading(dir string, r *lab.Recorded) error {
	switch {
	case r.Polls == 0:
		return freshet.WithHint(fmt.Errorf("no poll is recorded in %s", dir), "let freshet serve run for a while, or name another directory with --data")
	case r.Gap == 0:
		return freshet.WithHint(fmt.Errorf("no source has been seen twice in %s, in %s", dir, counted(r.Polls, "poll")),
			"let freshet serve run for a while; freshet log --failed shows what goes wrong")
	case r.Changes == 0:
		return freshet.WithHint(fmt.Errorf("nothing that is watched has changed in %s, in %s", dir, counted(r.Polls, "poll")),
			"let freshet serve run until something has")
	}
	return nil
}
