package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli/display"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
)

func secretVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Store passwords and tokens for requests, encrypted",
		Long: `Store passwords and tokens that requests need. A source or a profile refers to one as
${secret:NAME}, which is filled in when a request is sent.

Secrets are stored in the data directory, encrypted with the key in secret.key there. They
are never shown again: not by any command, and not by the API. The daemon reads them when
it needs them, so a changed secret takes effect at once.

Use the same --secrets, --data or --config as the daemon. Secrets are not sent over the
network, so run these commands on the machine of the daemon; there is no --server.`,
		Example: "  freshet settings secret set shop-password --host shop.example < password.txt\n" +
			"  freshet settings secret list --secrets /srv/freshet-secrets",
	}
	optionFlags(cmd.PersistentFlags(), "secrets")
	cmd.AddCommand(secretSetVerb(p), secretListVerb(p), secretRemoveVerb(p))
	return cmd
}

// vault returns the secrets of the data directory, or of the directory for secrets.
func vault(p *program, cmd *cobra.Command) (*secrets.Vault, error) {
	s, err := p.settings(cmd)
	if err != nil {
		return nil, err
	}
	if s.Secrets == "" {
		err = s.CheckData()
	}
	return secrets.Open(s.SecretDir()), err
}

func secretSetVerb(p *program) *cobra.Command {
	var hosts []string
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Set a secret, read from standard input",
		Long: `Set a secret to the content of standard input, without its final line break. It replaces
an earlier one of this name.

With --host it is sent only to these hosts. Without --host only sources and profiles of
the configuration file can use it; otherwise any user of the API could have it sent
anywhere.`,
		Example: "  freshet settings secret set shop-password --host shop.example < password.txt\n" +
			"  freshet settings secret set shop-password --secrets /srv/freshet-secrets < password.txt\n" +
			"  pass show api | freshet settings secret set api-token --host api.example:8443",
		Args: takes(1, 1),
	}
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "send it to this host only; can be repeated")
	return overVault(p, cmd, func(_ context.Context, v *secrets.Vault, args []string) error {
		if isTerminal(p.out) {
			p.remark("type the secret, then press Enter and Ctrl-D")
		}
		value, err := io.ReadAll(io.LimitReader(p.in, secrets.MaxSecret+2))
		if err != nil {
			return fmt.Errorf("read the secret: %w", err)
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
		for i, h := range hosts {
			hosts[i] = strings.ToLower(h)
			if freshet.HostOf("https://"+hosts[i]+"/") != hosts[i] {
				return usagef("--host: %q is not a host such as api.example or api.example:8443", h)
			}
		}
		if err := v.Set(secrets.Entry{Name: args[0], Hosts: hosts, Set: p.now().UTC().Truncate(time.Second)}, []byte(text)); err != nil {
			return fmt.Errorf("set secret %s: %w", args[0], err)
		}
		fmt.Fprintf(p.out, "set secret %s\n", args[0])
		return nil
	})
}

// overVault is the backend of secrets, which do not go over the network.
func overVault(p *program, cmd *cobra.Command, run func(context.Context, *secrets.Vault, []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v, err := vault(p, cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), v, args)
	}
	return cmd
}

func secretResource() resource[secrets.Entry, *secrets.Vault] {
	return resource[secrets.Entry, *secrets.Vault]{
		noun:    "secret",
		backend: overVault,
		all:     func(_ context.Context, v *secrets.Vault) ([]secrets.Entry, error) { return v.List() },
		none:    "there are no secrets; freshet settings secret set NAME sets one",
		table:   display.Table{Head: []string{"NAME", "SENT TO", "SET"}, Short: map[string]int{"NAME": 12}, Drop: []string{"SET"}},
		row: func(e secrets.Entry) []string {
			return []string{e.Name, cmp.Or(strings.Join(e.Hosts, ", "), "configuration file only"), e.Set.Local().Format(time.DateTime)}
		},
		remove: func(_ context.Context, v *secrets.Vault, name string) error { return v.Remove(name) },
	}
}

func secretListVerb(p *program) *cobra.Command {
	return secretResource().listVerb(p, &cobra.Command{Short: "List the names of the secrets", Example: "  freshet settings secret list"})
}

func secretRemoveVerb(p *program) *cobra.Command {
	return secretResource().removeVerb(p, &cobra.Command{Use: "remove NAME...", Short: "Delete secrets", Example: "  freshet settings secret remove shop-password"})
}
