package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"freshet"
	"freshet/config"
	"freshet/sqlite"
)

func (p *program) check() *cobra.Command {
	var asJSON, stored bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration file, and the data if asked to",
		Long: `Check a configuration file and print the settings that serve would work with:
flags, environment, file and defaults taken together. What is printed can be
used as a configuration file; secrets are left out.

All problems of the file are told, each with its line. The exit code is then 1.

With --store the data directory is read through instead: the pages of the
database, the hash of every version and the numbers of every change. A daemon
may go on meanwhile. What is damaged is told, and the exit code is then 3.`,
		Example: "  freshet check freshet.yaml\n  FRESHET_BUDGET=10/s freshet check --json\n  freshet check --store --data /var/lib/freshet",
		Args:    takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := cmd.Flags().Set("config", args[0]); err != nil {
					return err
				}
			}
			s, err := p.settings(cmd)
			if err != nil {
				return err
			}
			if stored {
				return p.checkStore(cmd.Context(), s.Data)
			}
			if asJSON {
				return p.printJSON(orderless(effective(s)))
			}
			text, err := yaml.Marshal(effective(s))
			if err != nil {
				return fmt.Errorf("print the settings: %w", err)
			}
			_, err = p.out.Write(text)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&stored, "store", false, "check all that is stored instead")
	optionFlags(cmd.Flags(), serveFlags...)
	return cmd
}

// checkStore reads all that is stored and says whether it is what was written.
func (p *program) checkStore(ctx context.Context, dir string) (err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return freshet.WithHint(fmt.Errorf("data directory %s: %w", dir, freshet.ErrNotFound), "name one with --data or FRESHET_DATA")
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Check(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "all that is stored in %s is as it was written\n", dir)
	return err
}

// effective returns the settings in the shape of a configuration file. What is
// at a default of a lower package is left out.
func effective(s config.Settings) yaml.MapSlice {
	var doc yaml.MapSlice
	for _, o := range options {
		value := o.show(s)
		switch v := value.(type) {
		case []netip.Prefix:
			value = texts(v)
		case []uint16:
			value = texts(v)
		}
		section, key, nested := strings.Cut(o.key, ".")
		if unset(value) && section != "allow_cidr" {
			continue
		}
		if !nested {
			doc = append(doc, yaml.MapItem{Key: section, Value: value})
			continue
		}
		if last := len(doc) - 1; last < 0 || doc[last].Key != section {
			doc = append(doc, yaml.MapItem{Key: section, Value: yaml.MapSlice{}})
		}
		last := &doc[len(doc)-1]
		last.Value = append(last.Value.(yaml.MapSlice), yaml.MapItem{Key: key, Value: value})
	}
	doc = append(doc, yaml.MapItem{Key: "webhooks", Value: each(s.Webhooks, showWebhook)})
	if len(s.Levels) > 0 {
		doc = append(doc, yaml.MapItem{Key: "levels", Value: each(s.Levels, showLevel)})
	}
	return append(doc,
		yaml.MapItem{Key: "sources", Value: each(s.Sources, showSource)})
}

func showWebhook(w config.Webhook) yaml.MapSlice {
	return present(yaml.MapSlice{
		{Key: "name", Value: w.Name}, {Key: "url", Value: w.URL},
		{Key: "secret_env", Value: w.SecretEnv}, {Key: "unsigned", Value: w.Unsigned},
		{Key: "tags", Value: texts(w.Tags)}, {Key: "sources", Value: texts(w.Sources)},
	})
}

func showSource(s freshet.Source) (shown yaml.MapSlice) {
	for _, f := range freshet.SourceFields() {
		texts := f.Show(&s)
		if len(texts) == 0 {
			continue
		}
		section, part, nested := strings.Cut(f.Name, ".")
		if !nested {
			shown = append(shown, yaml.MapItem{Key: section, Value: inYAML(f, texts)})
			continue
		}
		if last := len(shown) - 1; last < 0 || shown[last].Key != section {
			shown = append(shown, yaml.MapItem{Key: section, Value: yaml.MapSlice{}})
		}
		last := &shown[len(shown)-1]
		last.Value = append(last.Value.(yaml.MapSlice), yaml.MapItem{Key: part, Value: inYAML(f, texts)})
	}
	return shown
}

// inYAML returns the value of a field as YAML has it.
func inYAML(f freshet.SourceField, texts []string) any {
	if f.List {
		return texts
	}
	switch f.Kind {
	case "float":
		if x, err := strconv.ParseFloat(texts[0], 64); err == nil {
			return x
		}
	case "int":
		if n, err := strconv.Atoi(texts[0]); err == nil {
			return n
		}
	case "bool":
		return texts[0] == "true"
	}
	return texts[0]
}

// present drops the items that say nothing.
func present(items yaml.MapSlice) (kept yaml.MapSlice) {
	for _, item := range items {
		if !unset(item.Value) {
			kept = append(kept, item)
		}
	}
	return kept
}

// unset reports whether a value says nothing.
func unset(value any) bool {
	switch v := value.(type) {
	case string:
		return v == "" || v == "0" || v == "0s"
	case int:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	case []string:
		return len(v) == 0
	case yaml.MapSlice:
		return len(v) == 0
	}
	return false
}

func texts[T any](list []T) []string {
	return each(list, func(v T) string { return fmt.Sprint(v) })
}

func each[T, R any](list []T, of func(T) R) []R {
	made := make([]R, 0, len(list))
	for _, v := range list {
		made = append(made, of(v))
	}
	return made
}

// orderless turns what was made for YAML into what encoding/json writes.
func orderless(v any) any {
	switch v := v.(type) {
	case yaml.MapSlice:
		m := map[string]any{}
		for _, item := range v {
			m[fmt.Sprint(item.Key)] = orderless(item.Value)
		}
		return m
	case []yaml.MapSlice:
		return each(v, func(m yaml.MapSlice) any { return orderless(m) })
	}
	return v
}

// serveFlags are the flags of the options that serve takes, but for those that
// every verb has.
var serveFlags = []string{"listen", "budget", "host-delay", "allow-cidr", "policy", "log-level", "log-format"}
