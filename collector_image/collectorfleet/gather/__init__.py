"""The gather thread of the driver. It sends requests to collectors, receives their messages, and makes batches.

* A *slot* is a numbered position in the fleet, such as ``c3``. An *incarnation* is one start of a collector in a slot.
* A *request* asks a collector for a rollout. The *answer* to the request has the frames.
* A *share* is the part of a batch that one request covers. An *admission* is one share, or several shares whose
  requests the gather allows at the same time.
* To *publish* weights means to give the weights a version number. An *offer* sends a version to a collector. The
  collector *applies* (loads) the version, and *acknowledges* the version with a digest.
* A *draining* collector finishes its requests, and gets no new requests. Messages of a *retired* collector are ignored.
"""
