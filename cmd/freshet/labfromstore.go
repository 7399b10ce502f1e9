package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/internal/cli"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/store/sqlite"
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
	set.BoolVar(&f.on, "from-store", false, "use what your daemon recorded in the data directory instead of a trace")
	set.Float64Var(&f.days, "days", 0, "use only the last this many days (default: all)")
	set.Var(&f.place, "place", "when a change without a date happened between the two polls around it: spread (at random), early or late")
	set.BoolVar(&f.hidden, "hidden", f.hidden, "also add, at random, changes that were probably missed between two polls")
}

// fromStoreHelp is for the verbs that can replay what was recorded.
const fromStoreHelp = `
--from-store replays what your daemon recorded in the data directory; the daemon can
keep running. Each source keeps its host, life, urgency, weight and gaps unless a
flag overrides them. By default the budget is what was really spent, and an instant
is a tenth of the usual time between two polls of a source. Sources that gave dates
give them in the replay too (--evidence bits turns that off).

The daemon knows only between which two polls a change happened, and if there were
several, it saw only one. The missing ones are added at random, as many as a steady
rate of change makes likely. --hidden=false leaves them out, which favours the
policy that made the recording.
`

// A placementFlag says where in its window a change is put.
type placementFlag struct{ lab.Placement }

// Type returns what the flag takes, for its help.
func (f *placementFlag) Type() string { return "PLACE" }

// Set reads a placement.
func (f *placementFlag) Set(v string) (err error) {
	f.Placement, err = lab.ParsePlacement(v)
	return labflag.Meant(err, v, lab.Spread.String(), lab.Early.String(), lab.Late.String())
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
	if err == nil {
		err = s.CheckOwner()
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
		l.Instant = kept.Instant()
	} else if l.Instant <= 0 {
		return nil, usagef("--instant must be longer than 0s")
	}
	if !cmd.Flags().Changed("evidence") {
		l.evidence.Evidence = lab.Evidence{Kind: lab.Dated} // of the sources that have dates
	}
	period := kept.Period(l.Instant)
	if !l.Start.IsZero() {
		period.Start = l.Start.Time
	}
	if !l.End.IsZero() {
		period.End = l.End.Time
	}
	c, err := kept.Case(lab.Retelling{
		Dir: dir, Place: f.place.Placement, Period: period, Sources: kept.Sources,
		Weights: l.Weights.On, OwnLife: !cmd.Flags().Changed("life"), OwnUrgency: !cmd.Flags().Changed("urgency"),
	})
	return c, cli.WrongField(err)
}

// readStore reads what a daemon has recorded in a data directory. The daemon
// may go on meanwhile.
func readStore(ctx context.Context, p *program, dir string, f *storeFlags, seed uint64) (kept *lab.Stored, err error) {
	if !(f.days >= 0) || f.days > 36500 {
		return nil, usagef("--days must be more than 0, such as 7 or 0.5")
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, Features: features.All(), ReadOnly: true, Readers: 1})
	if err != nil {
		if freshet.HintOf(err) == "" {
			err = freshet.WithHint(err, "use --data to name the directory that freshet serve uses")
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	log, err := lab.OpenLog(ctx, store, lab.LogPart{Last: time.Duration(f.days * float64(day))})
	if err != nil {
		return nil, err
	}
	bar := p.progress("reading", log.Len())
	kept, err = log.Read(ctx, knownSources(ctx, store), lab.LogOptions{Place: f.place.Placement, Fill: f.hidden, Seed: seed}, bar.Add)
	bar.Done()
	if err != nil {
		return nil, err
	}
	return kept, kept.Enough("in " + dir)
}

// knownSources yields the sources of which a store has a history.
func knownSources(ctx context.Context, store *sqlite.Store) iter.Seq2[lab.StoredSource, error] {
	return func(yield func(lab.StoredSource, error) bool) {
		for k, err := range store.Known(ctx) {
			if !yield(lab.StoredSource{Source: k.Source, Gone: k.Removed || k.Paused}, err) {
				return
			}
		}
	}
}
