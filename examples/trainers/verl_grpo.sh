python -m verl.trainer.main_ppo \
    actor_rollout_ref.model.path=model data.train_files=train.parquet data.val_files=test.parquet \
    reward.custom_reward_function.path=pkg://guerdon.trainers.verl \
    reward.custom_reward_function.name=compute_score \
    +reward.custom_reward_function.reward_kwargs.reward="$PWD/my_rewards.py::last_number" \
    reward.reward_manager.name=naive \
    reward.num_workers=1
