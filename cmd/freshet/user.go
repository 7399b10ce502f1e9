package main

import (
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
	"freshet/internal/freshet"
)

func userVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "user",
		Short: "Manage who may use the API and the page",
		Long: `Manage users. While there are none, everybody on this machine can do everything. From
the first user on, everybody has to log in; the first must be an admin.

A viewer reads, an editor also edits sources, queries and sinks, and an admin may do
everything. On the machine of the daemon, whoever may read the data directory does not
have to log in to use these commands, so a forgotten password can be set again there.
Elsewhere, set FRESHET_SERVER and FRESHET_TOKEN.`,
	}, userAddVerb(p), userListVerb(p), userEditVerb(p), userRemoveVerb(p))
}

func userAddVerb(p *program) *cobra.Command {
	var role string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user",
		Long: `Add a user. The password is asked for on a terminal, and otherwise read from standard
input. It must have at least 8 characters.`,
		Example: "  freshet user add ada --role admin\n" +
			"  pass show freshet | freshet user add ci --role viewer",
		Args: takes(1, 1),
	}
	cmd.Flags().StringVar(&role, "role", string(freshet.Viewer), "what the user may do: viewer, editor or admin")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		u := client.NewUser{Name: args[0], Role: freshet.Role(role)}
		if err := (freshet.User{Name: u.Name, Role: u.Role}).Check(); err != nil {
			return usagef("%v", err)
		}
		var err error
		if u.Password, err = p.newPassword(u.Name); err != nil {
			return err
		}
		added, err := c.AddUser(ctx, u)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(added)
		}
		_, err = fmt.Fprintf(p.out, "added user %s (%s)\n", added.Name, added.Role)
		return err
	})
}

// newPassword asks for a password twice on a terminal, or reads it from standard input.
func (p *program) newPassword(name string) (string, error) {
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
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the users", Example: "  freshet user list\n  freshet user list --json", Args: takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		list, err := c.Users(ctx)
		if err != nil {
			return err
		}
		list.Items = firstOf(list.Items, limit)
		if asJSON {
			return p.printJSON(list.Items)
		}
		if len(list.Items) == 0 {
			p.remark("there are no users, so everybody on this machine can do everything; freshet user add NAME --role admin adds the first")
			return nil
		}
		t := table{head: []string{"NAME", "ROLE", "ADDED", "PASSWORD SET"}, short: map[string]int{"NAME": 12}, drop: []string{"ADDED"}}
		for _, u := range list.Items {
			t.add(plain(u.Name), plain(string(u.Role)), plain(dateOf(u.Created)), plain(dateOf(u.Set)))
		}
		return t.write(p.out, p.screen())
	})
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
	var password, asJSON bool
	cmd := &cobra.Command{
		Use:     "edit NAME",
		Short:   "Change the role or the password of a user",
		Long:    "Change a user. A new password ends the sessions of the user; tokens stay valid.",
		Example: "  freshet user edit bob --role editor\n  freshet user edit bob --password",
		Args:    takes(1, 1),
	}
	cmd.Flags().StringVar(&role, "role", "", "what the user may do: viewer, editor or admin")
	cmd.Flags().BoolVar(&password, "password", false, "ask for a new password, or read it from standard input")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) (err error) {
		if role == "" && !password {
			return usagef("user edit: say what to change with --role or --password")
		}
		e := client.UserEdit{Role: freshet.Role(role)}
		if password {
			if e.Password, err = p.newPassword(args[0]); err != nil {
				return err
			}
		}
		u, err := c.EditUser(ctx, args[0], e)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(u)
		}
		_, err = fmt.Fprintf(p.out, "changed user %s (%s)\n", u.Name, u.Role)
		return err
	})
}

func userRemoveVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove NAME...", Aliases: []string{"rm"}, Short: "Remove users, with their sessions, tokens and share links",
		Example: "  freshet user remove bob", Args: takes(1, -1),
	}
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return removeEach(p, args, "user", func(name string) error { return c.RemoveUser(ctx, name) })
	})
}

// removeEach removes what is named, and goes on after a failure.
func removeEach(p *program, names []string, what string, remove func(string) error) error {
	var faults []error
	for _, name := range names {
		if err := remove(name); err != nil {
			faults = append(faults, err)
			continue
		}
		fmt.Fprintf(p.out, "removed %s %s\n", what, name)
	}
	return errors.Join(faults...)
}
