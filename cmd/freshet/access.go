package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

func userVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "user",
		Short: "Manage the users of the API and the page",
		Long: `Manage users. While there are none, everybody on this machine can do everything. From
the first user on, everybody has to log in; the first must be an admin.

A viewer reads, an editor also edits sources, queries and sinks, and an admin may do
everything. On the machine of the daemon these commands need no login, only read
access to the data directory, so a forgotten password can be reset there.
Elsewhere, set FRESHET_SERVER and FRESHET_TOKEN.`,
	}, userAddVerb(p), userListVerb(p), userEditVerb(p), userRemoveVerb(p))
}

func userResource() resource[client.User, *connection] {
	return resource[client.User, *connection]{
		noun:    "user",
		backend: overAPI,
		all:     func(ctx context.Context, c *connection) ([]client.User, error) { return c.Users.List(ctx) },
		none:    "there are no users, so everybody on this machine can do everything; freshet user add NAME --role admin adds the first",
		table:   display.Table{Head: []string{"NAME", "ROLE", "ADDED", "PASSWORD SET"}, Short: map[string]int{"NAME": 12}, Drop: []string{"ADDED"}},
		row: func(u client.User) []string {
			return []string{u.Name, string(u.Role), dateOf(u.Created), dateOf(u.Set)}
		},
		remove: func(ctx context.Context, c *connection, name string) error { return c.Users.Remove(ctx, name) },
	}
}

func userAddVerb(p *program) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user",
		Long: `Add a user. The password is asked for on a terminal, and otherwise read from standard
input. It must have at least 8 characters.`,
		Example: "  freshet user add ada --role admin\n" +
			"  pass show freshet | freshet user add ci --role viewer",
		Args: takes(1, 1),
	}
	cmd.Flags().StringVar(&role, "role", string(access.Viewer), "what the user may do: viewer, editor or admin")
	return resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (added client.User, err error) {
		u := client.NewUser{Name: args[0], Role: access.Role(role)}
		if err := (auth.User{Name: u.Name, Role: u.Role}).Check(); err != nil {
			return added, usagef("%v", err)
		}
		if u.Password, err = newPassword(p, u.Name); err != nil {
			return added, err
		}
		return c.Users.Add(ctx, u)
	}, func(_ *connection, u client.User) error {
		_, err := fmt.Fprintf(p.out, "added user %s (%s)\n", u.Name, u.Role)
		return err
	})
}

// newPassword asks for a password twice on a terminal, or reads it from standard input.
func newPassword(p *program, name string) (string, error) {
	f, ok := p.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		text, err := io.ReadAll(io.LimitReader(p.in, 4096))
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		password := strings.TrimRight(string(text), "\r\n")
		return password, auth.CheckPassword(password)
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(p.err, prompt)
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.err)
		return string(text), err
	}
	password, err := ask("Password for " + name + ": ")
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if err := auth.CheckPassword(password); err != nil {
		return "", err
	}
	again, err := ask("Once more: ")
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if again != password {
		return "", errors.New("the two passwords differ; nothing was changed")
	}
	return password, nil
}

func userListVerb(p *program) *cobra.Command {
	return userResource().listVerb(p, &cobra.Command{Short: "List the users", Example: "  freshet user list\n  freshet user list --json"})
}

// dateOf shows a time as a date; "-" if it never was.
func dateOf(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateOnly)
}

func userEditVerb(p *program) *cobra.Command {
	var role string
	var password bool
	cmd := &cobra.Command{
		Use:     "edit NAME",
		Short:   "Change the role or the password of a user",
		Long:    "Change a user. A new password ends the sessions of the user; tokens stay valid.",
		Example: "  freshet user edit bob --role editor\n  freshet user edit bob --password",
		Args:    takes(1, 1),
	}
	cmd.Flags().StringVar(&role, "role", "", "what the user may do: viewer, editor or admin")
	cmd.Flags().BoolVar(&password, "password", false, "ask for a new password, or read it from standard input")
	return resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (u client.User, err error) {
		if role == "" && !password {
			return u, noChanges("use --role or --password")
		}
		patch := client.Patch{}
		if role != "" {
			patch["role"] = role
		}
		if password {
			if patch["password"], err = newPassword(p, args[0]); err != nil {
				return u, err
			}
		}
		return c.Users.Edit(ctx, args[0], patch, 0)
	}, func(_ *connection, u client.User) error {
		_, err := fmt.Fprintf(p.out, "changed user %s (%s)\n", u.Name, u.Role)
		return err
	})
}

func userRemoveVerb(p *program) *cobra.Command {
	return userResource().removeVerb(p, &cobra.Command{
		Use: "remove NAME...", Short: "Remove users, with their sessions, tokens and share links", Example: "  freshet user remove bob",
	})
}

func tokenVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "token",
		Short: "Manage tokens for programs that use the API",
		Long: `Manage tokens. A program sends one as "Authorization: Bearer TOKEN"; the freshet
command takes it from FRESHET_TOKEN, together with FRESHET_SERVER or --server.

A token is shown once, when it is created. It never grants more than its user may do.`,
	}, tokenAddVerb(p), tokenListVerb(p), tokenRemoveVerb(p))
}

func tokenAddVerb(p *program) *cobra.Command {
	var scopes []string
	var n client.NewToken
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Create a token and print it",
		Long: `Create a token. NAME says what it is for. The token is printed on standard output and is
not shown again.`,
		Example: "  freshet user token add grafana --expires 1y\n" +
			"  freshet user token add shop-importer --scope read,write --tag shop --expires 90d",
		Args: takes(1, 1),
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", []string{"read"}, "scope of the token: read, write, admin or hand (for workers); can be repeated")
	cmd.Flags().StringVar(&n.Tag, "tag", "", "only for sources with this tag")
	cmd.Flags().StringVar(&n.Expires, "expires", "", "when it ends: how long from now, such as 90d, or a time (default never)")
	return resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (client.MadeToken, error) {
		n.Name = args[0]
		n.Scopes = each(scopes, func(s string) access.Right { return access.Right(s) })
		return c.Tokens.Add(ctx, n)
	}, func(_ *connection, made client.MadeToken) error {
		p.remark("token %s grants %s; it is shown only this once", made.ID, rights(made.Scopes))
		_, err := fmt.Fprintln(p.out, made.Secret)
		return err
	})
}

func tokenResource() resource[client.Token, *connection] {
	return resource[client.Token, *connection]{
		noun:    "token",
		backend: overAPI,
		all:     func(ctx context.Context, c *connection) ([]client.Token, error) { return c.Tokens.List(ctx) },
		none:    "there are no tokens; freshet user token add NAME makes one",
		table:   display.Table{Head: []string{"ID", "USER", "SCOPES", "TAG", "EXPIRES", "LAST USED", "NAME"}, Drop: []string{"TAG", "USER", "EXPIRES"}},
		row: func(k client.Token) []string {
			return []string{k.ID, orDash(k.User), rights(k.Scopes), orDash(k.Tag), dateOf(k.Expires), dateOf(k.Used), k.Name}
		},
		remove: func(ctx context.Context, c *connection, id string) error { return c.Tokens.Remove(ctx, id) },
	}
}

func rights(scopes []access.Right) string {
	return strings.Join(each(scopes, func(s access.Right) string { return string(s) }), ", ")
}

func tokenListVerb(p *program) *cobra.Command {
	return tokenResource().listVerb(p, &cobra.Command{Short: "List the tokens, without their secrets", Example: "  freshet user token list"})
}

func tokenRemoveVerb(p *program) *cobra.Command {
	return tokenResource().removeVerb(p, &cobra.Command{Use: "remove ID...", Short: "Revoke tokens", Example: "  freshet user token remove k3f9q2xw7abc"})
}

func shareVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "share",
		Short: "Manage links that show one source or query to others",
		Long: `Manage share links. A link gives read access to one source, or to one query and its
matches, on the page, over the API and as a feed.`,
	}, shareAddVerb(p), shareListVerb(p), shareRemoveVerb(p))
}

func shareAddVerb(p *program) *cobra.Command {
	var n client.NewShare
	cmd := &cobra.Command{
		Use:     "add --source SOURCE | --query QUERY",
		Short:   "Create a share link and print it",
		Long:    "Create a share link. It is printed on standard output and is not shown again.",
		Example: "  freshet user share add --source news --expires 30d\n  freshet user share add --query cheap --name 'for Bo'",
		Args:    takes(0, 0),
	}
	cmd.Flags().StringVar((*string)(&n.Source), "source", "", "show this source")
	cmd.Flags().StringVar((*string)(&n.Query), "query", "", "show this query and what it matched")
	cmd.Flags().StringVar(&n.Name, "name", "", "who it is for")
	cmd.Flags().StringVar(&n.Expires, "expires", "", "when it ends: how long from now, such as 30d, or a time (default never)")
	return resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, _ []string) (made client.MadeShare, err error) {
		if (n.Source == "") == (n.Query == "") {
			return made, usagef("share add: name what to show with --source or --query")
		}
		if n.Source != "" {
			s, err := c.Sources.Find(ctx, string(n.Source))
			if err != nil {
				return made, err
			}
			n.Source = s.ID
		}
		return c.Shares.Add(ctx, n)
	}, func(c *connection, made client.MadeShare) error {
		p.remark("link %s; this is the only time that it is shown. Feed: %s", made.ID, c.base+made.Feed)
		_, err := fmt.Fprintln(p.out, cmp.Or(made.URL, c.base+made.Path))
		return err
	})
}

func shareResource() resource[client.Share, *connection] {
	return resource[client.Share, *connection]{
		noun:    "link",
		backend: overAPI,
		all:     func(ctx context.Context, c *connection) ([]client.Share, error) { return c.Shares.List(ctx) },
		none:    "there are no share links; freshet user share add --source SOURCE makes one",
		table:   display.Table{Head: []string{"ID", "SHOWS", "BY", "EXPIRES", "LAST USED", "NAME"}, Drop: []string{"BY", "LAST USED"}},
		row: func(s client.Share) []string {
			return []string{s.ID, shows(s.Source, s.Query), orDash(s.User), dateOf(s.Expires), dateOf(s.Used), s.Name}
		},
		remove: func(ctx context.Context, c *connection, id string) error { return c.Shares.Remove(ctx, id) },
	}
}

func shareListVerb(p *program) *cobra.Command {
	return shareResource().listVerb(p, &cobra.Command{Short: "List the share links, without their secrets", Example: "  freshet user share list"})
}

func shows(source freshet.SourceID, query string) string {
	if source != "" {
		return "source " + string(source)
	}
	return "query " + string(query)
}

func shareRemoveVerb(p *program) *cobra.Command {
	return shareResource().removeVerb(p, &cobra.Command{Use: "remove ID...", Short: "Revoke share links", Example: "  freshet user share remove k3f9q2xw7abc"})
}
