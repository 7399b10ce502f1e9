package listing_test

import (
	"fmt"
	"time"

	"freshet/listing"
)

func ExampleIndex() {
	var x listing.Index
	monday := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	tuesday := monday.AddDate(0, 0, 1)

	r := x.Read(monday)
	r.See("https://example.com/a", monday)
	r.See("https://example.com/b", monday)
	r.End(true)
	r.Keep()

	r = x.Read(tuesday)
	r.See("https://example.com/a", tuesday)
	changes := r.End(true)
	if len(changes.Gone) < x.Len() { // all of them gone at once is hardly true
		r.Keep()
	}
	for _, c := range changes.Redated {
		fmt.Println(c.URL, c.Old.Weekday(), c.New.Weekday())
	}
	fmt.Println(len(changes.Gone), x.Len())

	put, drop := x.Unsaved() // to be stored in one transaction
	x.Saved()
	fmt.Println(len(put), len(drop))
	// Output:
	// https://example.com/a Monday Tuesday
	// 1 1
	// 2 0
}
