package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"freshet/client"
)

// runDays asks for days, and shows them.
func (n *numbering) runDays(ctx context.Context, c *connection) error {
	if n.calibration {
		return usagef("numbers: --calibration is not known by day")
	}
	in, err := n.seen.read(n.program)
	if err != nil {
		return err
	}
	q := client.DaysQuery{In: in, Tag: n.tag, Host: n.host}
	if zone := time.Local.String(); zone != "Local" { // which has no name that a server would know
		q.Zone = zone
	}
	days, err := c.NumbersByDay(ctx, q)
	if err != nil {
		return err
	}
	if n.json {
		return n.printJSON(days)
	}
	t := table{
		head: []string{"DAY", "REQUESTS", "POLLS", "FAILED", "CHANGES", "CAPTURED", "MISSED", "BETWEEN"},
		drop: []string{"REQUESTS", "FAILED", "BETWEEN"},
	}
	for _, d := range days.Items {
		t.add(plain(d.Date), plain(strconv.Itoa(d.Requests)), plain(strconv.Itoa(d.Polls)), plain(strconv.Itoa(d.Failed)),
			plain(strconv.Itoa(d.Changes)), plain(few(d.Captured)), plain(few(d.Missed.Mean)), plain(few(d.Missed.Low)+" to "+few(d.Missed.High)))
	}
	if err := t.write(n.out, n.screen()); err != nil {
		return err
	}
	if days.From != nil {
		fmt.Fprintf(n.out, "There are too many polls to count: nothing before %s is counted\n", days.From.Local().Format(time.DateTime))
	}
	fmt.Fprintf(n.out, "Days are those of %s. CHANGES were found, CAPTURED and MISSED are estimated.\n", days.Zone)
	return nil
}
