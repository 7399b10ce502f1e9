package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

func exportListVerb(p *program, format string) *cobra.Command {
	e := &export{program: p}
	long := map[string]string{
		"opml": `Write the sources as OPML: feeds as entries that a feed reader subscribes to, and
other pages as links. Pages that were found for a site are left out.`,
		"csv": `Write the sources as a table, which freshet import reads. Pages that were found for
a site are left out.`,
	}[format]
	return e.verb(&cobra.Command{
		Use:     format,
		Short:   map[string]string{"opml": "Write the sources as OPML, for feed readers", "csv": "Write the sources as a table"}[format],
		Long:    long,
		Example: "  freshet export " + format + " --tag news --out news." + format,
	}, func(e *export, ctx context.Context) error {
		var b bytes.Buffer
		write := e.OPML
		if format == "csv" {
			write = e.CSV
		}
		n, masked, err := write(ctx, &b)
		if err != nil {
			return err
		}
		if masked > 0 {
			e.remark("note: %s with a secret in the URL, which is masked; freshet export config writes whole URLs", counted(masked, "source"))
		}
		return e.wrote(n, "source", e.out, e.writeAll(b.Bytes()))
	})
}

// writeAll writes a text to the file of an export, or to standard output.
func (e *export) writeAll(text []byte) error {
	if e.out == "" {
		_, err := e.program.out.Write(text)
		return err
	}
	return os.WriteFile(e.out, text, 0o600)
}

func exportConfigVerb(p *program) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write the configuration, as freshet apply reads it",
		Long: `Write a configuration file with the settings, sources, queries and sinks of the
daemon, no matter how they were added, and its users without their passwords. freshet
apply makes another daemon have the same. What only the daemon's own file can say is not
in it, and neither are tokens, share links and users of an OpenID provider.

Secrets of sinks are references to stored secrets; standard error lists those that
have to be stored where the file is applied. URLs of sources are written whole, with
the secrets in them: keep the file to yourself.`,
		Example: "  freshet export config > freshet.yaml\n  freshet export config | freshet apply - --server https://new.example --dry-run",
		Args:    takes(0, 0),
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` to write to (default: standard output)")
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		e := &export{program: p, out: out}
		if out == "-" {
			e.out = ""
		}
		if e.out == "" {
			return exportConfig(ctx, p, c, p.out)
		}
		file, err := os.OpenFile(e.out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(exportConfig(ctx, p, c, file), file.Close())
	})
}

// exportConfig writes the configuration of a daemon.
func exportConfig(ctx context.Context, p *program, c *connection, to io.Writer) error {
	b := bufio.NewWriter(to)
	w := config.NewExport(b)
	settings, err := c.Settings(ctx)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for _, s := range settings.Items {
		if s.From != "default" {
			set[s.Key] = s.Value
		}
	}
	if err := w.Settings(set); err != nil {
		return err
	}
	if err := exportQueries(ctx, c, w); err != nil {
		return err
	}
	secrets, err := exportSinks(ctx, c, w)
	if err != nil {
		return err
	}
	if err := exportUsers(ctx, p, c, w); err != nil {
		return err
	}
	uses := map[string]bool{}
	err = c.Sources.Each(ctx, client.SourceQuery{}, func(s client.Source) error {
		if s.Of != "" {
			return nil
		}
		if use, ok := s.Request["use"].(string); ok {
			uses[use] = true
		}
		if mask.Applied(s.URL) {
			whole, err := c.Sources.Reveal(ctx, s.ID)
			if err != nil {
				return err
			}
			s.URL = whole.URL
		}
		defined, err := s.Defined()
		if err != nil {
			return err
		}
		return w.Source(defined)
	})
	if err := errors.Join(err, b.Flush()); err != nil {
		return err
	}
	for _, name := range secrets {
		p.remark("note: store the secret %s where this is applied: freshet settings secret set %s", name, name)
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		p.remark("note: sources use requests.%s, which only the configuration file of a daemon can have: copy it from there", name)
	}
	return nil
}

func exportQueries(ctx context.Context, c *connection, w *config.Export) error {
	list, err := c.Queries.List(ctx)
	if err != nil {
		return err
	}
	defined := make([]queries.Query, 0, len(list))
	for _, q := range list {
		read, err := queries.FromClient(q.NewQuery)
		if err != nil {
			return err
		}
		defined = append(defined, read)
	}
	slices.SortFunc(defined, func(a, b queries.Query) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return w.Queries(defined)
}

// exportUsers writes the users. Only admins may list them.
func exportUsers(ctx context.Context, p *program, c *connection, w *config.Export) error {
	all, err := c.Users.List(ctx)
	if refused, ok := errors.AsType[*client.Problem](err); ok && refused.Status == http.StatusForbidden {
		p.remark("note: users are left out: only an admin may list them")
		return nil
	}
	if err != nil {
		return err
	}
	var listed []auth.User
	for _, u := range all {
		if !u.Provider {
			listed = append(listed, auth.User{Name: u.Name, Role: u.Role})
		}
	}
	slices.SortFunc(listed, func(a, b auth.User) int { return strings.Compare(a.Name, b.Name) })
	if len(listed) > 0 {
		p.remark("note: users are written without passwords; where this is applied, freshet user edit NAME --password sets one")
	}
	return w.Users(listed)
}

func exportSinks(ctx context.Context, c *connection, w *config.Export) (secrets []string, err error) {
	list, err := c.Sinks.List(ctx)
	if err != nil {
		return nil, err
	}
	defined := make([]sinks.Sink, 0, len(list))
	for _, s := range list {
		text, err := json.Marshal(s.NewSink)
		if err != nil {
			return nil, err
		}
		read := sinks.Sink{}
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, err
		}
		read.Name = s.Name
		defined = append(defined, read)
	}
	slices.SortFunc(defined, func(a, b sinks.Sink) int { return strings.Compare(a.Name, b.Name) })
	return w.Sinks(defined)
}
