package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func clusterVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Show the daemon that decides, and the hands that poll for it",
		Long:    "Show the daemon that decides what is polled, and the hands on other machines that\npoll for it (freshet hand): where they are, how many polls each can make at the same\ntime, and how many it is making.",
		Example: "  freshet cluster\n  freshet cluster --json",
		Args:    takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		all, err := c.Cluster(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(all)
		}
		fmt.Fprintf(p.out, "brain  %s, epoch %d, %s at the same time\n", harmless(all.Brain.Address), all.Brain.Epoch, counted(all.Brain.Slots, "poll"))
		if len(all.Hands) == 0 {
			_, err := fmt.Fprintln(p.out, "no hands on other machines (freshet hand --join URL)")
			return err
		}
		t := table{head: []string{"HAND", "ADDRESS", "PLACE", "SLOTS", "BUSY", "SINCE", ""}}
		for _, h := range all.Hands {
			note := ""
			if h.Draining {
				note = "draining"
			}
			t.add(plain(harmless(h.Name)), plain(harmless(h.Address)), plain(harmless(h.Place)), plain(fmt.Sprint(h.Slots)), plain(fmt.Sprint(h.Busy)), plain(ago(h.Since, p.now())), plain(note))
		}
		return t.write(p.out, p.screen())
	})
}
