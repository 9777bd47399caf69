// The validation of Kueue's webhook for Jobs: reads Jobs as JSON documents, and prints `ok` or the reason for a refusal for each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/features"
)

func judge() error {
	// Kueue 0.18 enables this feature by default.
	gates := map[string]bool{string(features.ElasticJobsViaWorkloadSlices): true}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return err
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	for {
		var one batchv1.Job
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := (&job.JobWebhook{}).ValidateCreate(context.Background(), &one); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
}

func main() {
	if err := judge(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
