package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// Watch a page, poll it, and read what changed.
func Example() {
	daemon, err := newRig() // or one that "freshet serve" has started
	if err != nil {
		fmt.Println(err)
		return
	}
	defer daemon.close()

	ctx := context.Background()
	c := client.New(daemon.API.URL, http.DefaultClient.Do)
	source, err := c.Sources.Add(ctx, client.NewSource{ID: "prices", URL: daemon.Origin.URL + "/prices", Tags: []string{"shop"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"apples 1.20\n", "apples 1.40\n"} {
		daemon.put(source.ID, text)
		answer, err := c.Sources.Poll(ctx, source.ID, 30*time.Second, false)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("poll:", answer.Outcome.Result)
	}
	page, err := c.Changes(ctx, client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: source.ID}, Wait: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range page.Items {
		fmt.Println("change:", change.Summary)
	}
	_, err = c.Sources.Get(ctx, "pears")
	fmt.Println("pears are not watched:", errors.Is(err, freshet.ErrNotFound))

	// Output:
	// poll: first
	// poll: changed
	// change: +1 -1 line: apples 1.40
	// pears are not watched: true
}
