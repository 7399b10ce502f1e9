package client

import "time"

// A Quarantined is a suspect version that is stored and not reported as a change.
type Quarantined struct {
	Version int       `json:"version" doc:"Number of the version"`
	Since   time.Time `json:"since" doc:"Since when the page has not been seen as it should be"`
	Looks   int       `json:"looks" doc:"Polls in a row that got a suspect page"`
	Agreed  int       `json:"agreed" doc:"Of those, the last ones that got this version or nearly it"`
	Again   time.Time `json:"look_again,omitzero" doc:"When it is looked at again; missing if that is up to the schedule"`
	Next    string    `json:"next" doc:"What happens to it next"`
	Summary string    `json:"summary,omitempty" doc:"How it differs from the last good version"`
}

// Quiets count versions that were stored without a change being reported.
type Quiets struct {
	Suspect int `json:"suspect" doc:"Held as suspect and never confirmed"`
	Noise   int `json:"noise" doc:"Different only in parts that change at nearly every poll"`
}
