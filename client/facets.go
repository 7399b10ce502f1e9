package client

// Facets count sources by what a list of them can be narrowed to.
type Facets struct {
	Total  int           `json:"total"`
	States map[State]int `json:"states" doc:"A source can be in several; those without a source are missing"`
	Tags   []Facet       `json:"tags" nullable:"false" doc:"The most used first, 100 at most"`
	Hosts  []Facet       `json:"hosts" nullable:"false" doc:"Likewise"`
}

// A Facet is a name with how many sources have it.
type Facet struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}
