#!/usr/bin/env python3
"""Hugging Face's Trainer: torchrun --nproc-per-node=2 hf-trainer.py train.hr FOLDER STEPS"""
import os
import sys

from bigram import Bigram
from transformers import TrainingArguments

import headrace
from headrace.hf import Trainer  # instead of transformers.Trainer

pipeline, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
args = TrainingArguments(output_dir=folder, max_steps=steps, save_steps=2, gradient_accumulation_steps=2,
                         per_device_train_batch_size=2, logging_steps=1, use_cpu=True, report_to=[])
trainer = Trainer(model=Bigram(), args=args, train_dataset=headrace.Loader(pipeline))
trainer.train(resume_from_checkpoint=os.path.isdir(folder) and any(name.startswith("checkpoint-") for name in os.listdir(folder)))
trainer.accelerator.end_training()  # leaves torch.distributed in order, all ranks together
