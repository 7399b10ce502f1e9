package client

import ()

// An Outline lists the elements of a version that say something, in the order of the page.
type Outline struct {
	Version int           `json:"version"`
	Items   []OutlineItem `json:"items" nullable:"false"`
	Cut     bool          `json:"cut,omitempty" doc:"There are more"`
}

// An OutlineItem is an element of a page.
type OutlineItem struct {
	Number   int    `json:"number" doc:"Its place among all elements of the page; the rendered version takes it as mark"`
	Depth    int    `json:"depth" doc:"How many listed elements are around it"`
	Tag      string `json:"tag"`
	Selector string `json:"selector" doc:"CSS that finds this element alone"`
	Text     string `json:"text" doc:"The beginning of what it says"`
	Chars    int    `json:"chars" doc:"How much it says, as far as that was looked at"`
}
