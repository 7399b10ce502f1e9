package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

func checkVerb(p *program) *cobra.Command {
	var asJSON bool
	var stored storeFlag
	var repair string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check the configuration file, or the stored data",
		Long: `Check the configuration and print the settings that serve would use: flags,
environment, file and defaults combined. The output is a valid configuration file;
secrets are left out.

If the file has problems, all of them are listed with their lines, and the exit
code is 2. An environment variable for a webhook secret that is not set is only a
warning here.

--store checks the stored data instead: the database pages, the checksum of every
row and log, and the hash of every version. The daemon can keep running. Damage is
listed line by line, and the exit code is 3. If the data is in PostgreSQL, name the
database, unless the configuration does.

--repair copies everything readable from a damaged data directory into a new one.
Ids, numbers and cursors stay the same, and what was lost is listed. The old
directory is not changed. Stop the daemon first.`,
		Example: "  freshet check freshet.yaml\n  FRESHET_BUDGET=10/s freshet check --json\n  freshet check --store --data /var/lib/freshet\n  freshet check --store postgres://freshet@db/freshet\n  freshet check --data /var/lib/freshet --repair /var/lib/freshet.new",
		Args:    takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && stored.on && config.IsStore(args[0]) {
				if err := cmd.Flags().Set("store", args[0]); err != nil {
					return err
				}
			} else if len(args) > 0 {
				if err := cmd.Flags().Set("config", args[0]); err != nil {
					return err
				}
			}
			s, err := p.settings(cmd)
			if err != nil {
				return err
			}
			p.sayFile(cmd, s)
			for _, name := range s.MissingSecrets() {
				p.remark("warning: the environment variable %s is not set; serve needs it for the secret of a webhook", name)
			}
			for _, doubt := range s.Doubts {
				p.remark("warning: %s", harmless(doubt))
			}
			if hasRendered(s) {
				if err := checkBrowser(s); err != nil {
					p.remark("warning: %v; %s. Polls of sources with render fail until then", err, freshet.HintOf(err))
				}
			}
			if s.Store != "" && repair != "" {
				return freshet.WithHint(usagef("check: --repair copies a data directory, and the data is in PostgreSQL"), "restore a backup with pg_restore, or fail over to a standby")
			}
			if stored.on && s.Store != "" {
				return checkDatabase(cmd.Context(), p, s.Store, asJSON)
			}
			if stored.on || repair != "" {
				if err := s.CheckData(); err != nil {
					return err
				}
				if err := s.CheckOwner(); err != nil {
					return err
				}
			}
			if repair != "" {
				return repairStore(cmd.Context(), p, s.Data, repair, asJSON)
			}
			if stored.on {
				return checkStore(cmd.Context(), p, s.Data, asJSON)
			}
			if asJSON {
				return p.printJSON(s.Plain())
			}
			text, err := s.YAML()
			if err != nil {
				return err
			}
			if _, err = p.out.Write(text); err != nil {
				return err
			}
			p.remark("OK: %s", soundIn(s))
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().Var(&stored, "store", "check the stored data instead: the data directory, or the database that follows")
	cmd.Flags().Lookup("store").NoOptDefVal = storedHere
	cmd.Flags().StringVar(&repair, "repair", "", "copy everything readable into this new `directory`")
	optionFlags(cmd.Flags(), slices.DeleteFunc(slices.Clone(serveFlags), func(name string) bool { return name == "store" })...)
	return cmd
}

// soundIn says what was checked and is sound.
func soundIn(s config.Settings) string {
	if s.File == "" {
		return "the settings are valid; there is no configuration file"
	}
	return s.File + " is valid"
}

// hasRendered reports whether a source of the file is to be rendered.
func hasRendered(s config.Settings) bool {
	for _, source := range s.Sources.All() {
		if source.Recipe.Render.On {
			return true
		}
	}
	return false
}

// checkBrowser reports what is missing to render pages, with what to do about it.
func checkBrowser(s config.Settings) error {
	r, err := browser.New(s.Render)
	if err != nil {
		return err
	}
	_, _, err = r.Check()
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return freshet.WithHint(e, e.Hint)
	}
	return err
}

// serveFlags are the flags of the options that serve takes, but for those that
// every verb has.
var serveFlags = []string{"store", "secrets", "listen", "advertise", "bundle", "tls-cert", "tls-key", "ca", "insecure-cluster", "lease", "standby", "budget", "source-gap", "source-share", "host-delay", "host-share", "crawl-delay", "hints", "allow-cidr", "memory", "reserve", "policy", "aim", "hand-token-file", "own-slots", "log-level", "log-format",
	"oidc-issuer", "oidc-client-id", "oidc-client-secret", "oidc-name", "oidc-scopes", "oidc-groups-claim", "oidc-admins", "oidc-editors", "oidc-viewers", "oidc-default-role", "oidc-session"}

// checkStore reads all that is stored and says whether it is what was written.
func checkStore(ctx context.Context, p *program, dir string, asJSON bool) error {
	if err := thereIsData(dir); err != nil {
		return err
	}
	report, err := sqlite.Verify(ctx, sqlite.Config{Dir: dir, Features: features.All()}, sayStep(p))
	clearStep(p)
	if err != nil {
		return err
	}
	return printReport(p, dir, "restore a backup, or copy what is still readable: freshet check --data "+dir+" --repair NEW", report, asJSON)
}

// checkDatabase is checkStore for data in PostgreSQL.
func checkDatabase(ctx context.Context, p *program, url string, asJSON bool) error {
	report, err := postgres.Verify(ctx, postgres.Config{URL: url, Features: features.All()}, sayStep(p))
	clearStep(p)
	if err != nil {
		return err
	}
	return printReport(p, "the database", "restore a backup with pg_restore, or fail over to a standby", report, asJSON)
}

// printReport prints what was found in a store.
func printReport(p *program, dir, hint string, report store.Report, asJSON bool) error {
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
	r, err := sqlite.Repair(ctx, sqlite.Config{Dir: dir, Features: features.All()}, into, sayStep(p))
	clearStep(p)
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

// sayStep returns a function that prints the progress of a check on a terminal.
func sayStep(p *program) func(sqlite.Progress) {
	return func(g sqlite.Progress) {
		if !isTerminal(p.err) || p.env("TERM") == "dumb" {
			return
		}
		of := ""
		if g.Of > 0 {
			of = fmt.Sprintf(" of %d", g.Of)
		}
		fmt.Fprintf(p.err, "\r\x1b[K%s: %d%s", g.Doing, g.Done, of)
	}
}

// clearStep takes away what sayStep has shown.
func clearStep(p *program) {
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
