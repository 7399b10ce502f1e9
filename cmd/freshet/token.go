package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func tokenVerb(p *program) *cobra.Command {
	return grouped(&cobra.Command{
		Use:   "token",
		Short: "Make tokens for programs that use the API",
		Long: `Manage tokens. A program sends one as "Authorization: Bearer TOKEN"; the freshet
command takes it from FRESHET_TOKEN, together with FRESHET_SERVER or --server.

A token is shown once, when it is made. It is never good for more than its user may do.`,
	}, tokenAddVerb(p), tokenListVerb(p), tokenRemoveVerb(p))
}

func tokenAddVerb(p *program) *cobra.Command {
	var scopes []string
	var n client.NewToken
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token and print it",
		Long: `Make a token. NAME says what it is for. The token is printed on standard output and is
not shown again.`,
		Example: "  freshet token add grafana --expires 1y\n" +
			"  freshet token add shop-importer --scope read,write --tag shop --expires 90d",
		Args: takes(1, 1),
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", []string{"read"}, "what it is good for: read, write, admin or hand; can be repeated")
	cmd.Flags().StringVar(&n.Tag, "tag", "", "only for sources with this tag")
	cmd.Flags().StringVar(&n.Expires, "expires", "", "when it ends: how long from now, such as 90d, or a time (default never)")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		n.Name = args[0]
		for _, s := range scopes {
			n.Scopes = append(n.Scopes, freshet.Right(s))
		}
		made, err := c.AddToken(ctx, n)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(made)
		}
		p.remark("token %s is good for %s; this is the only time that it is shown", made.ID, rights(made.Scopes))
		_, err = fmt.Fprintln(p.out, made.Secret)
		return err
	})
}

func rights(scopes []freshet.Right) string {
	var list []string
	for _, s := range scopes {
		list = append(list, string(s))
	}
	return strings.Join(list, ", ")
}

func tokenListVerb(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Example: "  freshet token list", Args: takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	limitFlag(cmd, &limit)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		list, err := c.Tokens(ctx)
		if err != nil {
			return err
		}
		list.Items = firstOf(list.Items, limit)
		if asJSON {
			return p.printJSON(list.Items)
		}
		if len(list.Items) == 0 {
			p.remark("there are no tokens; freshet token add NAME makes one")
			return nil
		}
		t := table{head: []string{"ID", "USER", "SCOPES", "TAG", "EXPIRES", "LAST USED", "NAME"}, drop: []string{"TAG", "USER", "EXPIRES"}}
		for _, k := range list.Items {
			t.add(plain(k.ID), plain(orDash(k.User)), plain(rights(k.Scopes)), plain(orDash(k.Tag)), plain(dateOf(k.Expires)), plain(dateOf(k.Used)), plain(harmless(k.Name)))
		}
		return t.write(p.out, p.screen())
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return harmless(s)
}

func tokenRemoveVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove ID...", Aliases: []string{"rm"}, Short: "Make tokens invalid", Example: "  freshet token remove k3f9q2xw7abc", Args: takes(1, -1),
	}
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return removeEach(p, args, "token", func(id string) error { return c.RemoveToken(ctx, id) })
	})
}
