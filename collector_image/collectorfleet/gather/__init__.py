"""The gather thread of the driver: it sends requests to collectors, receives their messages, and makes batches.

* A *slot* is a numbered position in the fleet, such as ``c3``. An *incarnation* is one start of the slot's collector.
* A *request* asks a collector for a rollout. Its *answer* has the frames.
* A *share* is the part of a batch that one request asks for. An *admission* is one or more shares that are allowed
  together.
* To *publish* weights is to give them a version. An *offer* sends a version to a collector. The collector *applies* the
  version and *acknowledges* it with a digest.
* A *draining* collector finishes its requests and gets no more. The messages of a *retired* collector are ignored.
"""
