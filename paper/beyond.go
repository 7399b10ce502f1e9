package paper

// beyondExperiments are those of this paper.
func beyondExperiments() []Experiment { return nil }
