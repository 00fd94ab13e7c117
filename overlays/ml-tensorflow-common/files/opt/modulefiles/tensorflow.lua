whatis("TensorFlow: training on one node, or on several by tf.distribute")
family("python_environment")
prepend_path("PATH", "/opt/ml/tensorflow/bin")
setenv("VIRTUAL_ENV", "/opt/ml/tensorflow")
