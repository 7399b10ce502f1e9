package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/cli/display"
	"freshet/internal/cluster/identity"
	"freshet/internal/units"
)

const clusterHelp = `Show the leader, which decides what is polled; the standby nodes, which can take over
(freshet serve on the same PostgreSQL database); and the workers on other machines, which
poll for the leader (freshet cluster worker), with their addresses, slots and running polls. All
nodes deliver: SINKS counts the sinks that a node delivers to, and SENDING its running
deliveries.

A warm standby has the state of the leader, except for the last BEHIND polls, and can
take over at once. It is warming while it reads that state, and cold if it was started
with --standby cold. It is unable to take over, and not ready, while its secret.key is
missing or differs from the others'. A node without a heartbeat for three leases is lost.
Problems of a node are listed below the table.

A checkpoint stores what the leader has learned, so that a start does not replay all past
polls.

Any node answers. With --store, or if no node can be reached, the answer comes straight
from the database.`

func clusterVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Show the nodes and workers of a cluster",
		Long:    clusterHelp,
		Example: "  freshet cluster\n  freshet cluster --server http://10.0.0.2:8080 --json\n  freshet cluster --store postgres://freshet@db/freshet",
		Args:    takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	show := func(all client.Cluster) error {
		if asJSON {
			return p.printJSON(all)
		}
		return showCluster(p, all)
	}
	clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		all, err := c.Cluster(ctx)
		if err != nil {
			return err
		}
		return show(all)
	})
	ask := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmp.Or(cmd.Flag("server").Value.String(), p.env("FRESHET_SERVER")) != "" {
			return ask(cmd, args)
		}
		s, err := p.settings(cmd)
		if err != nil {
			return err
		}
		if s.Store == "" {
			return ask(cmd, args)
		}
		if !cmd.Flag("store").Changed {
			if a, err := app.ReadAddress(s.Data); err == nil && a.URL != "" && a.Answers(cmd.Context()) {
				return ask(cmd, args)
			}
		}
		all, err := app.Together(cmd.Context(), s)
		if err != nil {
			return err
		}
		return show(all)
	}
	cmd.AddCommand(clusterInitVerb(p))
	return cmd
}

const clusterInitHelp = `Create the files that the machines of a cluster share, once, on any machine:

  DIR/node    for each machine of freshet serve: the key of a private CA, with
              which every node issues its certificates, secret.key, the token of
              workers and the first password of the user admin
  DIR/worker  for each machine of freshet cluster worker: the certificate of the
              CA, the token, and the addresses given with --node

Copy the directories over a channel that you trust, such as scp -p, and keep DIR/node as
you keep passwords. Nothing else on the network can then pass for a node.`

func clusterInitVerb(p *program) *cobra.Command {
	var dir string
	var nodes []string
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Make the certificates, keys and tokens of a cluster",
		Long:    clusterInitHelp,
		Example: "  freshet cluster init --node 10.0.0.1:8443 --node 10.0.0.2:8443 --node 10.0.0.3:8443",
		Args:    takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			join := make([]string, len(nodes))
			for i, at := range nodes {
				u, err := url.Parse("https://" + strings.TrimPrefix(at, "https://"))
				if err != nil || u.Port() == "" || u.Hostname() == "" || u.Path != "" {
					return usagef("cluster init: --node %q is not an address such as 10.0.0.1:8443", at)
				}
				join[i] = u.String()
			}
			if err := identity.Create(dir, join, p.now()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(p.out, "made %s for nodes and %s for workers; user admin has the password in %s\n",
				filepath.Join(dir, "node"), filepath.Join(dir, "worker"), filepath.Join(dir, "node", identity.PasswordName))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "freshet-cluster", "`directory` to make")
	cmd.Flags().StringSliceVar(&nodes, "node", nil, "`address` of a node, which workers join; repeat it for each node")
	return cmd
}

// roleOf says what a node does, and how ready it is to do more.
func roleOf(n client.ClusterNode) string {
	switch {
	case n.Role == "brain": // as the API has called it from the beginning
		return "leader"
	case n.Standby == "":
		return n.Role
	}
	return n.Role + ", " + n.Standby
}

// showWrong prints what is wrong with nodes.
func showWrong(p *program, nodes []client.ClusterNode) {
	for _, n := range nodes {
		if n.Why != "" {
			fmt.Fprintf(p.out, "%s: %s\n", harmless(n.Address), harmless(n.Why))
		}
		if n.Hint != "" {
			fmt.Fprintf(p.out, "  %s\n", harmless(n.Hint))
		}
	}
}

// showCluster prints the nodes and workers for people.
func showCluster(p *program, all client.Cluster) error {
	if all.Brain.Address == "" {
		fmt.Fprintf(p.out, "no leader at the moment, epoch %d\n", all.Brain.Epoch)
	} else {
		fmt.Fprintf(p.out, "leader      %s, epoch %d, %s at the same time\n", harmless(all.Brain.Address), all.Brain.Epoch, counted(all.Brain.Slots, "poll"))
	}
	if n := all.Brain.Notes; n != nil {
		fmt.Fprintf(p.out, "checkpoint  written %s by %s, of %s\n", ago(n.At, p.now()), harmless(cmp.Or(n.By, all.Brain.Address)), counted(n.Sources, "source"))
	}
	if len(all.Nodes) > 1 {
		t := display.Table{Head: []string{"NODE", "ROLE", "VERSION", "SINKS", "SENDING", "BEHIND", "STARTED", "SEEN"}, Drop: []string{"STARTED", "VERSION"}}
		for _, n := range all.Nodes {
			seen := units.FormatDuration(time.Duration(n.Seen).Round(100*time.Millisecond)) + " ago"
			t.Add(display.Plain(harmless(n.Address)), display.Plain(harmless(roleOf(n))), display.Plain(harmless(n.Version)), display.Plain(fmt.Sprint(n.Sinks)), display.Plain(fmt.Sprint(n.Sending)), display.Plain(counted(int(n.Lag), "poll")), display.Plain(ago(n.Started, p.now())), display.Plain(seen))
		}
		if err := t.Write(p.out, p.screen()); err != nil {
			return err
		}
		showWrong(p, all.Nodes)
	}
	if len(all.Hands) == 0 {
		_, err := fmt.Fprintln(p.out, "no workers on other machines (freshet cluster worker --join URL)")
		return err
	}
	t := display.Table{Head: []string{"WORKER", "ADDRESS", "PLACE", "SLOTS", "BUSY", "SINCE", ""}}
	for _, h := range all.Hands {
		note := ""
		switch {
		case h.Draining:
			note = "draining"
		case h.Trusted:
			note = "trusted"
		}
		t.Add(display.Plain(harmless(h.Name)), display.Plain(harmless(h.Address)), display.Plain(harmless(h.Place)), display.Plain(fmt.Sprint(h.Slots)), display.Plain(fmt.Sprint(h.Busy)), display.Plain(ago(h.Since, p.now())), display.Plain(note))
	}
	return t.Write(p.out, p.screen())
}
